-- Only if no rows are left: another server may be removing the rest.
WITH done AS (
    UPDATE event SET tidied_at = ledger_now()
    WHERE id = $1 AND deleted AND tidied_at IS NULL
      AND NOT EXISTS (SELECT FROM taken WHERE event = $1) AND NOT EXISTS (SELECT FROM entry WHERE event = $1)
      AND NOT EXISTS (SELECT FROM hold WHERE subject = $1) AND NOT EXISTS (SELECT FROM answer WHERE event = $1)
      AND NOT EXISTS (SELECT FROM hall WHERE event = $1)
    RETURNING 1
) SELECT count(*) FROM done
