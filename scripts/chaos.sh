#!/usr/bin/env bash
# Sales while every part of a deployment fails, on the optimised build. Called by `make chaos`, without settings in the
# environment; MINUTES, SEED, PEOPLE and PLANT are those of load/chaos.py.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh build
scripts/install-services.sh
cargo build --profile quick --locked --bin tickettock
exec python3 load/chaos.py target/quick/tickettock
