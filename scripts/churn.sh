#!/usr/bin/env bash
# An hour of churn on the optimised build: what grows without end fails. Called by `make churn`, without
# settings in the environment; MINUTES, RATE and SAMPLE are those of load/churn.py.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh build
scripts/install-services.sh
cargo build --profile quick --locked --bin tickettock
exec nice -n 15 python3 load/churn.py target/quick/tickettock
