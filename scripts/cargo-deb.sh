#!/usr/bin/env bash
# Prints the path of cargo-deb, which makes the Debian package. One on the PATH is used if it is of our version; otherwise
# one is built under target/, once. Called by scripts/dist.sh, and by scripts/setup.sh before the tests.
set -euo pipefail
cd "$(dirname "$0")/.."

version=3.8.0
found=$(command -v cargo-deb || true)
if [ -n "$found" ] && [ "$("$found" --version 2>/dev/null)" = "cargo-deb $version" ]; then
    echo "$found"
    exit
fi
deb=$PWD/target/cargo-deb-$version/bin/cargo-deb
if [ ! -x "$deb" ]; then
    echo "Building cargo-deb $version, which makes the Debian package; this takes some minutes." >&2
    # Unoptimised builds sooner, and most of a package's time is compression, which is C.
    cargo install cargo-deb --version "$version" --locked --debug --quiet --root "target/cargo-deb-$version" >&2 || {
        echo "tickettock: cargo-deb $version could not be built; make dist needs it" >&2
        exit 1
    }
fi
echo "$deb"
