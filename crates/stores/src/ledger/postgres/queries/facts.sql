-- The facts about this server that an operator should know before a sale. One row per standby, or one without any.
SELECT current_setting('server_version_num')::integer AS version,
       current_setting('fsync') = 'on' AS fsync,
       current_setting('full_page_writes') = 'on' AS full_page_writes,
       current_setting('autovacuum') = 'on' AS autovacuum,
       -- The setting of the database; our sessions set it to on.
       current_setting('synchronous_commit') AS synchronous_commit,
       current_setting('synchronous_standby_names') AS synchronous_standbys,
       current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
           AS connections_most,
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::integer AS connections,
       pg_is_in_recovery() AS standby,
       r.sync_state,
       (extract(epoch FROM r.replay_lag) * 1000)::bigint AS lag_ms,
       -- Only a member of pg_monitor sees more than the existence of a standby.
       r.pid IS NOT NULL AND r.state IS NULL AS hidden
FROM (SELECT 1) one LEFT JOIN pg_stat_replication r ON r.state IN ('streaming', 'catchup') OR r.state IS NULL
