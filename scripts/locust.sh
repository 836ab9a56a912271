#!/usr/bin/env bash
# Sends Locust's buyers to a running server, without its web page. Exit code 1 if any answer is not
# in the contract.
# Usage: scripts/locust.sh <base url> <seconds> [users]
# Locust is installed from PyPI into a virtual environment under target/, once.
set -euo pipefail
cd "$(dirname "$0")/.."

url=$1
seconds=$2
users=${3:-20}
version=2.47.0

case "$url" in
http://127.* | http://localhost* | http://\[::1\]*) ;;
*)
    echo "tickettock: $url is not loopback; a crowd stays on this machine" >&2
    exit 2
    ;;
esac

venv=$(scripts/python-tools.sh locust "locust==$version")

# Started as a module: the scripts in a folder that was renamed name the old one.
exec timeout --kill-after=10 $((seconds + 60)) "$venv/bin/python" -m locust \
    --locustfile load/locustfile.py --host "$url" \
    --headless --users "$users" --spawn-rate "$users" --run-time "${seconds}s" --stop-timeout 10 \
    --only-summary --loglevel WARNING
