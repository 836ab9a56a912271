#!/usr/bin/env bash
# Looks into what `make dist` made: checksums hold, the binary is static and stripped, completions and manual pages can
# be read by those who read them, the bill of materials follows the schema of CycloneDX. Called by `make distcheck`.
# Usage: scripts/archive-test.sh [FOLDER], by default target/dist
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "archive-test: $1" >&2
    exit 1
}

dist=${1:-target/dist}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$dist" && sha256sum --quiet -c SHA256SUMS) || fail "the checksums do not hold"
[ "$(find "$dist" -type f ! -name SHA256SUMS | wc -l)" = "$(wc -l <"$dist/SHA256SUMS")" ] || fail "a file has no checksum"
tar -xzf "$dist"/*.tar.gz -C "$work" --strip-components=1

tickettock=$work/bin/tickettock
if ldd "$tickettock" 2>/dev/null | grep -q '=>'; then
    [ -z "${STATIC:-}" ] || fail "the binary is not static"
    echo "the binary needs $(ldd "$tickettock" | grep -c '=>') libraries of this machine"
else
    # An empty file system has nothing to load.
    mkdir "$work/empty"
    cp "$tickettock" "$work/empty/"
    if [ "$(id -u)" = 0 ]; then chroot "$work/empty" /tickettock --version >/dev/null || fail "it does not run alone"; fi
    echo "the binary is static"
fi
if nm "$tickettock" 2>/dev/null | grep -q .; then fail "the binary is not stripped"; fi

for shell in bash:tickettock.bash zsh:_tickettock fish:tickettock.fish; do
    file=$work/completions/${shell##*:}
    [ -s "$file" ] || fail "no completions for ${shell%%:*}"
    command -v "${shell%%:*}" >/dev/null || { echo "${shell%%:*} is not there: its completions were not read"; continue; }
    "${shell%%:*}" -n "$file" || fail "${shell%%:*} does not understand its completions"
done
pages=0
for page in "$work"/man/*.1; do
    # C.UTF-8: examples have Korean in them.
    said=$(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
    [ -z "$said" ] || fail "$page: $said"
    pages=$((pages + 1))
done
commands=$("$tickettock" help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\).*/\1/p' | grep -v '^help$')
for command in $commands; do
    [ -e "$work/man/tickettock-$command.1" ] || fail "no manual page for $command"
done
echo "$pages manual pages, completions for three shells"
scripts/deploy-schemas.sh "$dist"/*.cdx.json
