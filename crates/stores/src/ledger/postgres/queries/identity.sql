-- Who this ledger is, and where it is. A restore into another cluster, onto another timeline, into another
-- database, or into tables that were made again shows in the place. A copy of the data folder that was put back
-- shows in the log position alone, which is behind what was seen before.
SELECT l.id, l.epoch, l.place, pg_is_in_recovery() AS standby,
       has_function_privilege('pg_control_system()', 'execute') AS may_ask,
       CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_flush_lsn()), 8) END AS timeline,
       CASE WHEN pg_is_in_recovery() THEN 0 ELSE (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint END AS flushed,
       (SELECT d.oid::bigint FROM pg_database d WHERE d.datname = current_database()) AS database,
       'ledger'::regclass::oid::bigint AS made
FROM ledger l
