#!/bin/bash
# Runs once, when PostgreSQL makes its data folder: a role for the standby, and the right to connect.
set -euo pipefail
psql -v ON_ERROR_STOP=1 -v password="$REPLICATION_PASSWORD" --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
CREATE ROLE replication WITH REPLICATION LOGIN PASSWORD :'password';
SQL
echo 'host replication replication all scram-sha-256' >>"$PGDATA/pg_hba.conf"
