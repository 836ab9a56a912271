#!/usr/bin/env bash
# For playing by hand: PostgreSQL, Redis, two servers and the gateway in front of them, until Ctrl-C.
# Called by `make gateway`. Ports can be moved: GATEWAY_PORT, SERVER_PORTS (two of them), PG_PORT,
# REDIS_PORT, CLUSTER_PORT. With BINARY nothing is built.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -z "${BINARY:-}" ]; then
    scripts/setup.sh build
    scripts/install-services.sh
    cargo build --locked --bin tickettock
    BINARY=$PWD/target/debug/tickettock
fi
binary=$BINARY
read -r one two <<<"${SERVER_PORTS:-5801 5802}"

port=${GATEWAY_PORT:-8080}
folder=$(mktemp -d "${TMPDIR:-/tmp}/tickettock-gateway.XXXXXX")
# PostgreSQL and nginx's workers run as other users.
chmod 755 "$folder"
export PG_PORT=${PG_PORT:-15432} REDIS_PORT=${REDIS_PORT:-16379} CLUSTER_PORT=${CLUSTER_PORT:-17001}

pids="" idle=""
stop() {
    trap '' INT TERM
    for pid in $idle $pids; do kill "$pid" 2>/dev/null || true; done
    for pid in $pids; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Ctrl-C goes to all of them; what must end last is ended by us.
mkdir "$folder/services"
touch "$folder/services/users"
exec 8<"$folder/services/users"
flock -s 8
scripts/services.sh run "$folder/services" >"$folder/services.log" 2>&1 &
pids=$!
for _ in $(seq 300); do
    [ -e "$folder/services/env" ] && break
    kill -0 $pids 2>/dev/null || { cat "$folder/services.log" >&2; exit 1; }
    sleep 0.1
done
# shellcheck disable=SC1091
. "$folder/services/env"

key=$(od -An -tx1 -N16 /dev/urandom | tr -d ' \n')
token=only-for-playing-here-0123456789
serve() {
    DATABASE_URL=$DATABASE_URL REDIS_URL=$REDIS_URL ADMIN_TOKEN=$token GATEWAY_KEY=$key DATA_DIR=$folder/data \
        APP_PORT=$1 FCFS_SEATS=9 "$binary" serve >"$folder/server-$1.log" 2>&1 &
    pids="$! $pids"
    for _ in $(seq 100); do
        grep -q "listens on" "$folder/server-$1.log" && return
        sleep 0.1
    done
    cat "$folder/server-$1.log" >&2
    exit 1
}
serve "$one"
serve "$two"

GATEWAY_HOST=127.0.0.1 GATEWAY_PORT=$port GATEWAY_UPSTREAMS="127.0.0.1:$one,127.0.0.1:$two" GATEWAY_KEY=$key \
    GATEWAY_TRUST_USER_HEADER=1 GATEWAY_ADDRESS_RATE=0 GATEWAY_WRAP=1 REDIS_URL=$REDIS_URL \
    "$binary" gateway "$folder/nginx" >/dev/null
nginx=$(command -v openresty || command -v nginx)
"$nginx" -c "$folder/nginx/nginx.conf" >"$folder/nginx.log" 2>&1 &
pids="$! $pids"
for _ in $(seq 50); do
    curl -sf -o /dev/null "http://127.0.0.1:$port/readyz" 2>/dev/null && break
    sleep 0.1
done

at=http://127.0.0.1:$port
cat <<TEXT

The gateway listens on $at, in front of two servers ($one, $two), PostgreSQL and Redis. Try:

  # a seat, with its arrival number; again: it is yours already
  curl -i $at/api/v1/seats/reservation/fcfs -H 'X-User-Id: alice' \\
    -H 'Content-Type: application/json' -d '{"userName":"Alice","phone":"010-1234-5678"}'

  # status, number and body in one, for debugging
  curl "$at/api/v1/seats/reservation/fcfs?wrap=1" -H 'X-User-Id: bob' \\
    -H 'Content-Type: application/json' -d '{"userName":"Bob","phone":"010-1234-5678"}'

  # a crowd: 20,000 buyers for 1,000 seats, and the proof
  ADMIN_TOKEN=$token $binary rush $at

  # a number of one's own is worth nothing
  curl $at/fcfs/join -H 'X-User-Id: mallory' -H 'X-Fcfs-Seq: 1' \\
    -H 'Content-Type: application/json' -d '{"userName":"Mallory","phone":"010-1234-5678"}'

The gateway's files are in $folder/nginx, the logs in $folder.
Ctrl-C stops everything and forgets it.
TEXT
while :; do
    sleep 3600 &
    idle=$!
    wait $idle
done
