#!/usr/bin/env bash
# Runs a collector of OpenTelemetry that is not ours (Rotel), until it is killed. It prints every span it was sent.
# Usage: scripts/collector.sh <address for OTLP over HTTP> <address for OTLP over gRPC>
# Rotel is installed from PyPI into a virtual environment under target/, once.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.0.1a15

venv=$(scripts/python-tools.sh rotel "rotel==$version")
agent=$(echo "$venv"/lib/python3*/site-packages/rotel/rotel-agent)
exec "$agent" start --otlp-http-endpoint "$1" --otlp-grpc-endpoint "$2" \
    --exporter blackhole --debug-log traces --debug-log-verbosity detailed
