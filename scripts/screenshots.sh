#!/usr/bin/env bash
# Starts a server of its own with some events and rooms, and takes pictures of every page. Called by `make screenshots`.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-services.sh
cargo build --locked --bin tickettock
data=$(mktemp -d)
port=${PORT:-5897}
DATA_DIR=$data APP_PORT=$port RUST_LOG=error target/debug/tickettock serve >/dev/null &
server=$!
trap 'kill "$server" 2>/dev/null; rm -rf "$data"' EXIT
until curl -sf "http://127.0.0.1:$port/readyz" >/dev/null; do sleep 0.1; done

mkdir -p target/screenshots
scripts/web.sh screenshots "http://127.0.0.1:$port" "$(cat "$data/admin-token")" "$PWD/target/screenshots"
echo "target/screenshots has the pictures."
