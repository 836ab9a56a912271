#!/usr/bin/env bash
# An hour of sales on the optimised build: what grows without end fails. Called by `make soak`, without
# settings in the environment; MINUTES, RATE and SAMPLE are those of load/soak.py.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh build
scripts/install-services.sh
cargo build --profile quick --locked --bin tickettock
exec nice -n 15 python3 load/soak.py target/quick/tickettock
