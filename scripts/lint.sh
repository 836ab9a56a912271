#!/usr/bin/env bash
# Form, lints with warnings as errors, and the tidy test.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh lint

cargo fmt --all --check
cargo clippy --workspace --all-targets --locked -- -D warnings
cargo test --package tickettock-tidy --locked --quiet
