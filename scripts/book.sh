#!/usr/bin/env bash
# Builds the manual from docs/ into target/book. Called by `make book`. Installs mdBook if it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.4.52
if ! command -v mdbook >/dev/null; then
    echo "mdBook is not there. Building it; this takes some minutes." >&2
    cargo install mdbook --version "$version" --locked --no-default-features
fi
mdbook build
echo "target/book/index.html"
