#!/usr/bin/env bash
# Every test of the workspace. Called by `make test`, without settings in the environment.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh test

cargo nextest run --workspace --locked "$@"

# nextest does not run examples in documentation. Looking for them is cheaper than building for none.
if grep -rqE '^[[:space:]]*//[/!][[:space:]]*```' crates --include='*.rs'; then
    cargo test --doc --workspace --locked
fi
