#!/usr/bin/env bash
# Prints what CHANGELOG.md says about a version. Fails unless the tag, Cargo.toml, Cargo.lock and the changelog
# name the same one.
# Usage: scripts/release-notes.sh v1.2.3
set -euo pipefail
cd "$(dirname "$0")/.."

tag=${1:?usage: scripts/release-notes.sh v1.2.3}
version=${tag#v}

differs() {
    echo "tickettock: $1" >&2
    exit 1
}

[ "$tag" = "v$version" ] || differs "the tag $tag does not begin with v"
grep -qxF "version = \"$version\"" Cargo.toml || differs "Cargo.toml does not name version $version"
grep -A1 -xF 'name = "tickettock"' Cargo.lock | grep -qxF "version = \"$version\"" ||
    differs "Cargo.lock does not name version $version; run cargo update --workspace"

notes=$(awk -v heading="## [$version]" '
    index($0, "## ") == 1 { inside = index($0, heading) == 1; next }
    /^\[[^]]+\]: / { next }
    inside { print }' CHANGELOG.md)
[ -n "${notes//[[:space:]]/}" ] || differs "CHANGELOG.md has no section ## [$version], or it is empty"
printf '%s\n' "$notes"
