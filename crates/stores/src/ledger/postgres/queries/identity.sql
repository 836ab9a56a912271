-- The identity and the location of this ledger. The location changes after a restore into another cluster, onto another
-- timeline, into another database, or into recreated tables. If a copy of the data directory was restored, only the log
-- position shows it: it is behind the one that was seen before.
SELECT l.id, l.epoch, l.place, pg_is_in_recovery() AS standby,
       has_function_privilege('pg_control_system()', 'execute') AS may_ask,
       CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_flush_lsn()), 8) END AS timeline,
       CASE WHEN pg_is_in_recovery() THEN 0 ELSE (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint END AS flushed,
       (SELECT d.oid::bigint FROM pg_database d WHERE d.datname = current_database()) AS database,
       'ledger'::regclass::oid::bigint AS made
FROM ledger l
