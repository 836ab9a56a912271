#!/usr/bin/env bash
# Installs Python packages at exact versions into a virtual environment under target/, once, and prints its path.
# A failed installation leaves no half-filled environment behind.
# Usage: venv=$(scripts/python-tools.sh <name> <package==version>...)
set -euo pipefail
cd "$(dirname "$0")/.."

name=$1
shift
venv=target/$name-$(printf '%s\n' "$@" | cksum | cut -d ' ' -f 1)

missing() {
    echo "tickettock: $1" >&2
    exit 1
}

if [ ! -d "$venv" ]; then
    command -v python3 >/dev/null ||
        missing "python3 was not found; $name needs it. On Debian: apt-get install python3 python3-venv"
    new=$venv.new.$$
    trap 'rm -rf "$new"' EXIT
    python3 -m venv "$new" >&2 ||
        missing "$name needs a virtual environment and none could be made. On Debian: apt-get install python3-venv"
    "$new/bin/python" -m pip install --quiet --disable-pip-version-check "$@" >&2 ||
        missing "could not install $* from PyPI; $name needs it once"
    # Another run may have been quicker; its environment is the same.
    [ -d "$venv" ] || mv "$new" "$venv"
fi
echo "$venv"
