#!/usr/bin/env bash
# Builds the image of deploy/Dockerfile and runs it as it should be run: read-only, not as root, without capabilities.
# Needs buildah and podman, and root. The first stage compiles in a public image; where no registry can be reached,
# only the last stage is built, from the static binary that is given, and the output says so.
# Called by `make distcheck`.
# Usage: scripts/image-test.sh [BINARY], by default the one in the tar.gz in target/dist
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "image-test: $1" >&2
    exit 1
}

for tool in buildah podman; do
    command -v $tool >/dev/null || fail "$tool is not there: apt-get install buildah podman crun"
done
work=$(mktemp -d "${TMPDIR:-/tmp}/tickettock-image.XXXXXX")
store=(--root "$work/store" --runroot "$work/run" --storage-driver vfs)
# Where version 1 and 2 of control groups are mixed, only runc runs.
runtime=$(command -v runc || command -v crun) || { echo "image-test: apt-get install runc" >&2; exit 1; }
podman_() {
    podman "${store[@]}" --runtime "$runtime" --cgroup-manager cgroupfs "$@" 2> >(grep -Ev 'CNI config|systemd connection' >&2)
}
container=""
end() {
    [ -z "$container" ] || podman_ rm -f -t 2 "$container" >/dev/null 2>&1 || true
    # podman may still be clearing up.
    rm -rf "$work" 2>/dev/null || { sleep 2; rm -rf "$work"; }
}
trap end EXIT

binary=${1:-}
if [ -z "$binary" ]; then
    archive=$(ls target/dist/*.tar.gz 2>/dev/null || true)
    [ -f "$archive" ] || fail "there is no binary; make dist builds one"
    tar -xzf "$archive" -C "$work" --strip-components=1 --wildcards '*/bin/tickettock'
    binary=$work/bin/tickettock
fi

compiler=$(sed -n 's/^FROM \(.*\) AS build$/\1/p' deploy/Dockerfile)
if timeout 120 buildah "${store[@]}" pull -q "$compiler" >/dev/null 2>&1; then
    buildah "${store[@]}" bud -q --isolation chroot --format docker -f deploy/Dockerfile -t tickettock . >/dev/null
    echo "built whole, in $compiler"
else
    if ldd "$binary" 2>/dev/null | grep -q '=>'; then fail "$binary is not static: nothing else is in the image"; fi
    mkdir -p "$work"/context/image/etc/ssl/certs "$work/context/owned/tmp"
    mkdir -m 700 "$work/context/owned/data"
    install -m 755 "$binary" "$work/context/image/tickettock"
    cp /etc/ssl/certs/ca-certificates.crt "$work/context/image/etc/ssl/certs/"
    sed -n '/^FROM scratch/,$p' deploy/Dockerfile | sed -E 's|^COPY --from=build (.*)/(image\|owned)/ /|COPY \1\2/ /|' \
        >"$work/context/Dockerfile"
    buildah "${store[@]}" bud -q --isolation chroot --format docker -t tickettock "$work/context" >/dev/null
    echo "no registry can be reached, so only the last stage was built, from a static binary"
fi

user=$(podman_ image inspect -f '{{.Config.User}}' tickettock)
[ "$user" = 65532:65532 ] || fail "the image runs as $user"
size=$(podman_ image inspect -f '{{.Size}}' tickettock)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')

# podman asks for more than a confined root may give.
files=$(ulimit -Hn)
run() {
    podman_ run -d --read-only --read-only-tmpfs=false --cap-drop all --security-opt no-new-privileges --network host \
        --ulimit "nofile=$files:$files" --ulimit nproc=4096:4096 \
        -v data:/data -e APP_HOST=127.0.0.1 -e APP_PORT="$port" -e ADMIN_LISTEN= tickettock
}
healthy() {
    for _ in $(seq 100); do
        podman_ healthcheck run "$container" >/dev/null 2>&1 && return
        sleep 0.1
    done
    podman_ logs "$container" >&2 || true
    fail "$1: its own check says that it is not healthy"
}
ask() {
    curl -s --max-time 10 -H 'X-User-Id: alice' -H 'Content-Type: application/json' "http://127.0.0.1:$port$1" "${@:2}"
}

container=$(run)
healthy "started"
pid=$(podman_ inspect -f '{{.State.Pid}}' "$container")
status=$(cat "/proc/$pid/status")
[ "$(awk '/^Uid:/ { print $2 }' <<<"$status")" = 65532 ] || fail "it runs as root"
grep -q 'CapEff:.0000000000000000' <<<"$status" || fail "it has capabilities"
# /, as the process sees it.
grep -q '^[^ ]* / [^ ]* ro[ ,]' "/proc/$pid/mounts" || fail "its root can be written"
said=$(ask /api/v1/seats/reservation/fcfs -d '{"userName":"Alice","phone":"010-1234-5678"}')
reservation=$(sed -n 's/.*"reservationId":"\([^"]*\)".*/\1/p' <<<"$said")
[ -n "$reservation" ] || fail "no seat: $said"
if podman_ exec "$container" /bin/sh -c true >/dev/null 2>&1; then fail "there is a shell in it"; fi
echo "read-only, as user 65532, without a capability or a shell: healthy, and sells ($((size / 1000000)) MB)"

podman_ stop -t 15 "$container" >/dev/null
code=$(podman_ inspect -f '{{.State.ExitCode}}' "$container")
[ "$code" = 0 ] || fail "it ends with $code on SIGTERM"
podman_ rm "$container" >/dev/null
container=$(run)
healthy "a new container"
said=$(ask /api/v1/reservations)
[[ $said == *"$reservation"* ]] || fail "the reservation is gone: $said"
echo "a new container on the same volume has the reservation"
