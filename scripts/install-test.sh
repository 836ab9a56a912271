#!/usr/bin/env bash
# Installs the server with `cargo install`, as deploy/README.md prints it, and sees that the one binary that comes of it
# starts on an empty folder. Unoptimised, because only the way is looked at. Called by `make distcheck`.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "install-test: $1" >&2
    exit 1
}

printed='cargo install --path crates/server --locked'
grep -qF "\`$printed\`" deploy/README.md || fail "deploy/README.md does not print $printed"
work=$(mktemp -d "${TMPDIR:-/tmp}/tickettock-install.XXXXXX")
pid=""
end() {
    [ -z "$pid" ] || { kill "$pid" 2>/dev/null || true; wait "$pid" 2>/dev/null || true; }
    rm -rf "$work"
}
trap end EXIT
# shellcheck disable=SC2086
$printed --quiet --debug --root "$work" || fail "it does not install"
[ "$(ls "$work/bin")" = tickettock ] || fail "it installs more than the server: $(ls "$work/bin")"
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
[ "$("$work/bin/tickettock" --version)" = "tickettock $version" ] || fail "it is another version"

DATA_DIR=$work/data APP_PORT=0 ADMIN_LISTEN='' "$work/bin/tickettock" serve >"$work/said" 2>&1 &
pid=$!
for _ in $(seq 100); do
    url=$(sed -n 's/.*listens on //p' "$work/said")
    [ -n "$url" ] && break
    sleep 0.1
done
"$work/bin/tickettock" healthcheck --url "$url" || { cat "$work/said" >&2; fail "it is not healthy"; }
echo "$printed: the binary is there, and is healthy"
