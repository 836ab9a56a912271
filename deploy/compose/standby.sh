#!/bin/bash
# The standby copies the primary the first time, and follows it from then on.
set -euo pipefail
data=/var/lib/postgresql/data
if [ ! -s "$data/PG_VERSION" ]; then
    pg_basebackup -h postgres -U replication -D "$data" -R -X stream -c fast
    chmod 700 "$data"
    # The name that synchronous_standby_names waits for.
    echo "primary_conninfo = 'host=postgres user=replication password=$PGPASSWORD application_name=standby'" \
        >>"$data/postgresql.auto.conf"
fi
# With the options of the command: a standby needs as many connections as its primary, or it does not start.
exec postgres -D "$data" -c hot_standby=on "$@"
