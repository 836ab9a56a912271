-- A ledger that was restored from a backup has the id of the one it is a copy of. Its epoch tells them apart.

ALTER TABLE ledger
    ADD COLUMN epoch text NOT NULL DEFAULT '',
    -- Where the epoch began: system identifier, timeline, database and table. Null: not looked at yet.
    ADD COLUMN place text;
