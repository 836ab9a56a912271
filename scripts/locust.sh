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
venv=target/locust-$version

case "$url" in
http://127.* | http://localhost* | http://\[::1\]*) ;;
*)
    echo "tickettock: $url is not loopback; a crowd stays on this machine" >&2
    exit 2
    ;;
esac

if [ ! -x "$venv/bin/locust" ]; then
    command -v python3 >/dev/null || {
        echo "tickettock: python3 was not found; Locust needs it. On Debian: apt-get install python3 python3-venv" >&2
        exit 1
    }
    rm -rf "$venv" "$venv.new"
    python3 -m venv "$venv.new" || {
        echo "tickettock: no virtual environment could be made. On Debian: apt-get install python3-venv" >&2
        exit 1
    }
    "$venv.new/bin/python" -m pip install --quiet --disable-pip-version-check "locust==$version" || {
        echo "tickettock: Locust $version could not be installed from PyPI. This test needs PyPI once." >&2
        exit 1
    }
    mv "$venv.new" "$venv"
fi

# Started as a module: the scripts in a folder that was renamed name the old one.
exec timeout --kill-after=10 $((seconds + 60)) "$venv/bin/python" -m locust \
    --locustfile load/locustfile.py --host "$url" \
    --headless --users "$users" --spawn-rate "$users" --run-time "${seconds}s" --stop-timeout 10 \
    --only-summary --loglevel WARNING
