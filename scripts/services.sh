#!/bin/sh
# Private PostgreSQL, Redis and Redis Cluster of three nodes, on loopback, in one folder.
#
#   services.sh play            for playing by hand: fixed ports, until Ctrl-C
#   services.sh run FOLDER      for tests: PG_PORT, REDIS_PORT and CLUSTER_PORT name free ports;
#                               ends when no test has held FOLDER/users for IDLE seconds
#
# Writes FOLDER/env when everything answers. Nothing of it survives its end but the logs.
set -eu

mode=${1:-play}
case $mode in
play)
    folder=$(mktemp -d "${TMPDIR:-/tmp}/tickettock-play.XXXXXX")
    PG_PORT=${PG_PORT:-15432} REDIS_PORT=${REDIS_PORT:-16379} CLUSTER_PORT=${CLUSTER_PORT:-17001}
    ;;
run)
    folder=$2
    : "${PG_PORT:?}" "${REDIS_PORT:?}" "${CLUSTER_PORT:?}"
    ;;
*)
    sed -n '2,8p' "$0" >&2
    exit 2
    ;;
esac
IDLE=${IDLE:-30}
chmod 755 "$folder"
# The folders are named by version numbers.
# shellcheck disable=SC2012
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
[ -n "$bin" ] || bin=$(dirname "$(command -v postgres)")

# PostgreSQL refuses to run as root, and rightly so. To be called in a subshell.
as_postgres() {
    if [ "$(id -u)" = 0 ]; then
        exec setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@"
    else
        exec "$@"
    fi
}

postgres="" pids=""
stop() {
    trap '' INT TERM
    rm -f "$folder/env"
    # Immediate: there is nothing to be kept.
    [ -z "$postgres" ] || kill -QUIT "$postgres" 2>/dev/null || true
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    for pid in $postgres $pids; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$folder/pg" "$folder/pg-empty" "$folder"/redis "$folder"/node-*
    [ "$mode" = run ] || rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

until_it_answers() {
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        # One that could not start, because somebody was quicker to take its port, never answers.
        for pid in $postgres $pids; do
            kill -0 "$pid" 2>/dev/null || { echo "a service ended" >&2; cat "$folder"/*.log >&2; exit 1; }
        done
        [ $tries -lt 300 ] || { echo "no answer: $*" >&2; cat "$folder"/*.log >&2; exit 1; }
        sleep 0.1
    done
}

# An empty data folder is kept beside the running one: tests that kill a server copy it.
mkdir -p "$folder/pg-empty"
chmod 700 "$folder/pg-empty"
[ "$(id -u)" != 0 ] || chown postgres:postgres "$folder/pg-empty"
(as_postgres "$bin/initdb" -D "$folder/pg-empty" -U postgres -A trust -E UTF8 --locale=C -N) >"$folder/initdb.log" 2>&1 ||
    { cat "$folder/initdb.log" >&2; exit 1; }
cp -a "$folder/pg-empty" "$folder/pg"

# Without fsync: these die by kill, not by power loss, and the system keeps what they wrote.
(as_postgres "$bin/postgres" -D "$folder/pg" -p "$PG_PORT" -c listen_addresses=127.0.0.1 \
    -c unix_socket_directories= -c fsync=off -c full_page_writes=off -c max_connections=300 \
    -c shared_buffers=128MB -c max_wal_size=128MB -c min_wal_size=32MB -c log_min_messages=warning) >"$folder/postgres.log" 2>&1 &
postgres=$!

redis() {
    name=$1 port=$2
    shift 2
    mkdir -p "$folder/$name"
    redis-server --port "$port" --bind 127.0.0.1 --dir "$folder/$name" --save '' --appendonly no \
        --maxmemory-policy noeviction --enable-debug-command local "$@" >"$folder/$name.log" 2>&1 &
    pids="$pids $!"
}
redis redis "$REDIS_PORT"
nodes=""
for i in 0 1 2; do
    redis "node-$i" $((CLUSTER_PORT + i)) --cluster-enabled yes --cluster-config-file nodes.conf --cluster-node-timeout 2000
    nodes="$nodes 127.0.0.1:$((CLUSTER_PORT + i))"
done

until_it_answers "$bin/pg_isready" -h 127.0.0.1 -p "$PG_PORT"
until_it_answers redis-cli -p "$REDIS_PORT" ping
for i in 0 1 2; do until_it_answers redis-cli -p $((CLUSTER_PORT + i)) ping; done
# shellcheck disable=SC2086
redis-cli --cluster create $nodes --cluster-yes >"$folder/cluster.log" 2>&1 || { cat "$folder/cluster.log" >&2; exit 1; }
for i in 0 1 2; do
    until_it_answers sh -c "redis-cli -p $((CLUSTER_PORT + i)) cluster info | grep -q cluster_state:ok"
done

{
    echo "DATABASE_URL=postgres://postgres@127.0.0.1:$PG_PORT/postgres?sslmode=disable"
    echo "REDIS_URL=redis://127.0.0.1:$REDIS_PORT"
    echo "REDIS_CLUSTER_URL=redis://127.0.0.1:$CLUSTER_PORT"
    echo "EMPTY_DATA=$folder/pg-empty"
    echo "PG_BIN=$bin"
} >"$folder/env.new"
mv "$folder/env.new" "$folder/env"

if [ "$mode" = play ]; then
    cat <<TEXT
PostgreSQL, Redis and a Redis Cluster are running. Start a server on them with:

  ADMIN_TOKEN=only-for-playing-here-0123456789 \\
  DATABASE_URL='postgres://postgres@127.0.0.1:$PG_PORT/postgres?sslmode=disable' \\
  REDIS_URL=redis://127.0.0.1:$REDIS_PORT cargo run -p tickettock -- serve

(or with the cluster: REDIS_CLUSTER=1 REDIS_URL=redis://127.0.0.1:$CLUSTER_PORT)
Ctrl-C stops them and forgets everything.
TEXT
    while :; do sleep 3600 & wait $!; done
fi

idle=0
touch "$folder/users"
exec 9<"$folder/users"
while [ $idle -lt "$IDLE" ]; do
    sleep 1
    if flock -n -x 9; then
        idle=$((idle + 1))
        # Held to the very end, so that nobody comes in while the lights go out.
        [ $idle -ge "$IDLE" ] || flock -u 9
    else
        idle=0
    fi
done
