-- A secret of the ledger's own, made by the first server that needs it: buyers' reservation ids and
-- telephone numbers that are identities are hidden with it.
ALTER TABLE ledger ADD COLUMN secret bytea;

-- At most this many stand in the line of an event with a waiting room; null: as many as by default.
ALTER TABLE event ADD COLUMN room_queue_most integer CHECK (room_queue_most > 0);
