-- Chosen seats: rows may lie behind the cursor. Room for seats on hold.

ALTER TABLE event
    ADD COLUMN held integer NOT NULL DEFAULT 0,
    ADD COLUMN came_back integer NOT NULL DEFAULT 0;

-- Rows that are free.
UPDATE event SET came_back = "cursor" - sold;

-- All seats up to the cursor have a row; behind it only seats that were chosen. No seat has two.
ALTER TABLE event
    DROP CONSTRAINT event_check,
    ADD CONSTRAINT event_counts CHECK (sold >= 0 AND held >= 0 AND came_back >= 0),
    ADD CONSTRAINT event_stock CHECK ("cursor" <= sold + held + came_back AND sold + held + came_back <= seat_count);

ALTER TABLE taken
    -- The hold it is or was held by, and when that ends.
    ADD COLUMN hold bigint,
    ADD COLUMN ends_at bigint,
    DROP CONSTRAINT taken_kind_check,
    DROP CONSTRAINT taken_check2,
    DROP CONSTRAINT taken_check3,
    ADD CONSTRAINT taken_kind CHECK (kind IN ('sold', 'held', 'free')),
    ADD CONSTRAINT taken_n CHECK ((kind = 'free') = (n IS NULL)),
    ADD CONSTRAINT taken_free_is_bare CHECK
        (kind <> 'free' OR (owner IS NULL AND buyer IS NULL AND phone IS NULL AND hold IS NULL)),
    ADD CONSTRAINT taken_ends CHECK ((kind = 'held') = (ends_at IS NOT NULL)),
    ADD CONSTRAINT taken_held_by CHECK (kind <> 'held' OR (owner IS NOT NULL AND hold IS NOT NULL));

-- The holds that end first.
CREATE INDEX taken_held ON taken (event, ends_at) WHERE kind = 'held';

-- A seat changes hands only by being free in between, whatever the code above believes. What is
-- held is sold to its holder, by that hold.
DROP TRIGGER taken_one_owner ON taken;
CREATE TRIGGER taken_one_owner BEFORE UPDATE ON taken
    FOR EACH ROW WHEN (
        (OLD.kind = 'sold' AND NEW.kind <> 'free')
        OR (OLD.kind = 'held' AND NEW.kind <> 'free'
            AND (NEW.owner IS DISTINCT FROM OLD.owner OR NEW.hold IS DISTINCT FROM OLD.hold)))
    EXECUTE FUNCTION refuse('this seat is taken');

-- The seats as the first specification draws them. Seats never taken have no row in taken.
CREATE OR REPLACE VIEW seats AS
SELECT event.id AS event_id,
       every.seat AS id,
       coalesce(taken.kind <> 'free', false) AS status,
       taken.owner AS reserved_by,
       taken.phone AS phone,
       to_timestamp(event.created_at / 1000.0) AS created_at,
       to_timestamp(coalesce(taken.at, event.created_at) / 1000.0) AS updated_at
FROM event
CROSS JOIN LATERAL generate_series(1, event.seat_count) AS every (seat)
LEFT JOIN taken ON taken.event = event.id AND taken.seat = every.seat
WHERE NOT event.deleted;
