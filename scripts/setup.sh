#!/usr/bin/env bash
# Sees that what a make target needs is there, and installs what it can.
# Usage: scripts/setup.sh build|test|lint
set -euo pipefail

missing() {
    echo "tickettock: $1" >&2
    exit 1
}

command -v cargo >/dev/null ||
    missing "cargo was not found. Install Rust 1.95 or newer: https://rustup.rs"
command -v cc >/dev/null || command -v gcc >/dev/null ||
    missing "a C compiler was not found; SQLite is built with one. On Debian: apt-get install gcc libc6-dev"

case "${1:-build}" in
test)
    if ! cargo nextest --version >/dev/null 2>&1; then
        echo "cargo-nextest, which runs the tests, is not there. Installing it; this takes some minutes." >&2
        echo "(Ready-made: https://nexte.st/docs/installation)" >&2
        cargo install cargo-nextest --locked
    fi
    # PostgreSQL and Redis: tests start private ones for themselves.
    scripts/install-services.sh
    # Makes the Debian package, in the test of what `make dist` gives to others.
    scripts/cargo-deb.sh >/dev/null
    ;;
lint)
    cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt ||
        missing "rustfmt was not found and could not be installed: rustup component add rustfmt"
    cargo clippy --version >/dev/null 2>&1 || rustup component add clippy ||
        missing "clippy was not found and could not be installed: rustup component add clippy"
    ;;
esac
