#!/usr/bin/env bash
# Measures the optimised build against the ceiling and others, all on this machine.
# Called by `make bench`, without settings in the environment. QUICK=1 takes a few minutes and
# leaves docs/benchmarks.md alone.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh build
scripts/install-services.sh
cargo build --release --locked --package tickettock --package tickettock-bench

BENCH_DATE=$(date -u +%Y-%m-%d)
BENCH_COMMIT=$(git describe --always --dirty 2>/dev/null || echo unknown)
export BENCH_DATE BENCH_COMMIT

# Below target/, not in a temporary folder: that may be memory, which flushes in no time.
data=target/bench-data
mkdir -p "$data"
data=$(cd "$data" && pwd)
if [ -n "${QUICK:-}" ]; then
    exec target/release/bench run quick "$data" target/benchmarks.md
fi
exec target/release/bench run full "$data" docs/benchmarks.md
