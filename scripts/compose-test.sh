#!/usr/bin/env bash
# Runs deploy/compose.yaml without its images: every service from a package of Debian, with the environment, the command,
# the mounts and the limits that the file gives it, in a network and a file system of its own. So a wrong variable, host
# name, port or path is found where no registry can be reached. Grafana is not in Debian: only its data source is asked.
# Needs root. podman-compose from PyPI reads the file. Called by `make distcheck`.
# Usage: scripts/compose-test.sh [BINARY], by default the one in the tar.gz in target/dist
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "compose-test: $1" >&2
    exit 1
}

[ "$(id -u)" = 0 ] || fail "root is needed, for networks of its own"
for tool in ip podman psql redis-server nginx prometheus curl setpriv; do
    command -v $tool >/dev/null || fail "$tool is not there"
done
venv=$(scripts/python-tools.sh podman-compose podman-compose==1.5.0)
work=$(mktemp -d "${TMPDIR:-/tmp}/tickettock-compose.XXXXXX")
trap 'rm -rf "$work"' EXIT
binary=${1:-}
if [ -z "$binary" ]; then
    archive=$(ls target/dist/*.tar.gz 2>/dev/null || true)
    [ -f "$archive" ] || fail "there is no binary; make dist builds one"
    tar -xzf "$archive" -C "$work" --strip-components=1 --wildcards '*/bin/tickettock'
    binary=$work/bin/tickettock
fi
# As whoever follows the file: a secret of its own on every line. The servers refuse those of the example.
while IFS= read -r line; do
    case $line in
    *=change-me*) echo "${line%%=*}=$(od -An -tx1 -N32 /dev/urandom | tr -d ' \n')" ;;
    *) echo "$line" ;;
    esac
done <deploy/compose/example.env >"$work/env"
"$venv/bin/python" -m podman_compose --env-file "$work/env" -f deploy/compose.yaml config >"$work/compose.yaml" \
    2>"$work/log" || { cat "$work/log" >&2; fail "podman-compose does not take deploy/compose.yaml"; }
echo "podman-compose reads the file"
"$venv/bin/python" scripts/compose-test.py "$work" "$binary"
