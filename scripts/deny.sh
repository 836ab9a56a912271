#!/usr/bin/env bash
# Checks the dependency tree against deny.toml: licences, sources, duplicate and banned versions.
# Called by `make deny`. A cargo-deny on the PATH is used if its minor version is ours, because the format of
# deny.toml changes between minor versions. Otherwise one is built under target/, once.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.20.2
scripts/setup.sh build

deny=cargo-deny
case "$("$deny" --version 2>/dev/null)" in
"cargo-deny ${version%.*}."*) ;;
*)
    deny=target/cargo-deny-$version/bin/cargo-deny
    if [ ! -x "$deny" ]; then
        echo "Building cargo-deny $version; this takes some minutes." >&2
        # Unoptimised builds sooner, and the check takes seconds all the same.
        cargo install cargo-deny --version "$version" --locked --debug --quiet --root "target/cargo-deny-$version" || {
            echo "tickettock: cargo-deny $version could not be built from crates.io; make deny needs it" >&2
            exit 1
        }
    fi
    ;;
esac

# An exception that nobody needs any more is an error too.
exec "$deny" --locked check --deny unmatched-skip --deny unnecessary-skip bans licenses sources
