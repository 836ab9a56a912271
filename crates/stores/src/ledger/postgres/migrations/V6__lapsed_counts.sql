-- Lapsed holds are counted before they are turned, so that reads and decisions cost the same however many
-- there are. Every held row whose end is at or before the mark (counted_to, then counted_place: the number of
-- the hold, or the seat of an event) is in the sums: lapsed of the event, or of each night of a room type.

ALTER TABLE event
    ADD COLUMN lapsed integer NOT NULL DEFAULT 0,
    ADD COLUMN counted_to bigint NOT NULL DEFAULT 0,
    ADD COLUMN counted_place bigint NOT NULL DEFAULT 0,
    ADD CHECK (lapsed >= 0 AND lapsed <= held);

ALTER TABLE room_type
    ADD COLUMN counted_to bigint NOT NULL DEFAULT 0,
    ADD COLUMN counted_place bigint NOT NULL DEFAULT 0;

-- Lapsed rooms are shown as free. They are given again only once their holds are turned: the check of reserved
-- and held against the total stays as it is.
ALTER TABLE night ADD COLUMN lapsed integer NOT NULL DEFAULT 0, ADD CHECK (lapsed >= 0 AND lapsed <= held);

-- What has lapsed, oldest first. Counting reads the index alone.
DROP INDEX hold_end;
CREATE INDEX hold_end ON hold (subject, ends_at, n) INCLUDE (check_in, check_out) WHERE state = 'held';

-- The lapsed holds on one night.
CREATE INDEX hold_nights ON hold (subject, check_in, check_out, ends_at) WHERE state = 'held' AND check_in IS NOT NULL;

DROP INDEX taken_held;
CREATE INDEX taken_held ON taken (event, ends_at, seat) WHERE kind = 'held';
