#!/usr/bin/env bash
# Starts a demo of its own with some more events and rooms, and takes pictures of every page and for the README.
# Called by `make screenshots`. ONLY=choose,report takes some of them.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-services.sh
cargo build --locked --bin tickettock
export TICKETTOCK=$PWD/target/debug/tickettock
data=$(mktemp -d)
port=${PORT:-5897}
RUST_LOG=error "$TICKETTOCK" demo --port "$port" --data-dir "$data/data" >/dev/null &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true; rm -rf "$data"' EXIT
until curl -sf "http://127.0.0.1:$port/readyz" >/dev/null && [ -e "$data/data/demo/stocked" ]; do sleep 0.1; done

mkdir -p target/screenshots
scripts/web.sh screenshots "http://127.0.0.1:$port" "$(cat "$data/data/admin-token")" "$PWD/target/screenshots"
echo "target/screenshots has the pictures; those of the README are in its folder readme/ (cp them to docs/pictures)."
