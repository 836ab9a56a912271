-- Chosen seats: rows may lie behind the cursor. Room for seats on hold. SQLite cannot change a
-- check of a table, so the two tables are made anew and their rows are copied.

DROP VIEW seats;

CREATE TABLE event_2 (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    seat_count INTEGER NOT NULL CHECK (seat_count >= 0),
    max_per_user INTEGER NOT NULL CHECK (max_per_user >= 1),
    opens_at INTEGER,
    state TEXT NOT NULL CHECK (state IN ('scheduled', 'open', 'paused', 'closed')),
    deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    generation INTEGER NOT NULL DEFAULT -1,
    n INTEGER NOT NULL CHECK (n >= 0),
    -- Every seat up to here has a row; behind it only seats that were chosen.
    "cursor" INTEGER NOT NULL DEFAULT 0,
    sold INTEGER NOT NULL DEFAULT 0,
    held INTEGER NOT NULL DEFAULT 0,
    -- Rows that are free.
    came_back INTEGER NOT NULL DEFAULT 0,
    CHECK (sold >= 0 AND held >= 0 AND came_back >= 0),
    -- All seats up to the cursor have a row, and no seat has two.
    CHECK ("cursor" <= sold + held + came_back AND sold + held + came_back <= seat_count)
) STRICT;

INSERT INTO event_2 (id, name, seat_count, max_per_user, opens_at, state, deleted, created_at, changed_at, generation,
                     n, "cursor", sold, came_back)
SELECT id, name, seat_count, max_per_user, opens_at, state, deleted, created_at, changed_at, generation,
       n, "cursor", sold, "cursor" - sold
FROM event;

DROP TABLE event;
ALTER TABLE event_2 RENAME TO event;

-- One row per seat that was ever sold or held: two owners have no place to stand.
CREATE TABLE taken_2 (
    event INTEGER NOT NULL,
    seat INTEGER NOT NULL,
    -- How many seats the hall has: carried by the row, because a trigger that looks it up makes
    -- SQLite keep a journal of every single insert.
    hall_seats INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('sold', 'held', 'free')),
    owner TEXT,
    unit INTEGER,
    unit_limit INTEGER,
    -- The history row that sold or held it.
    n INTEGER,
    at INTEGER NOT NULL,
    number INTEGER,
    buyer TEXT,
    phone TEXT,
    -- The hold it is or was held by, and when that ends.
    hold INTEGER,
    ends_at INTEGER,
    PRIMARY KEY (event, seat),
    CHECK (seat >= 1 AND seat <= hall_seats),
    CHECK ((owner IS NULL) = (unit IS NULL) AND (unit IS NULL) = (unit_limit IS NULL)),
    CHECK (unit IS NULL OR (unit >= 1 AND unit <= unit_limit)),
    CHECK ((kind = 'free') = (n IS NULL)),
    CHECK (kind <> 'free' OR (owner IS NULL AND buyer IS NULL AND phone IS NULL AND hold IS NULL)),
    CHECK ((kind = 'held') = (ends_at IS NOT NULL)),
    CHECK (kind <> 'held' OR (owner IS NOT NULL AND hold IS NOT NULL))
) STRICT, WITHOUT ROWID;

INSERT INTO taken_2 (event, seat, hall_seats, kind, owner, unit, unit_limit, n, at, number, buyer, phone)
SELECT event, seat, hall_seats, kind, owner, unit, unit_limit, n, at, number, buyer, phone
FROM taken ORDER BY event, seat;

DROP TABLE taken;
ALTER TABLE taken_2 RENAME TO taken;

-- A user has each unit of an event once, so never more seats than the limit. Also the way to
-- one user's seats.
CREATE UNIQUE INDEX taken_owner ON taken (owner, event, unit) WHERE owner IS NOT NULL;

-- The lowest seat that came back.
CREATE INDEX taken_free ON taken (event, seat) WHERE kind = 'free';

-- The holds that end first.
CREATE INDEX taken_held ON taken (event, ends_at) WHERE kind = 'held';

-- A seat changes hands only by being free in between, whatever the code above believes. What is
-- held is sold to its holder, by that hold.
CREATE TRIGGER taken_one_owner BEFORE UPDATE ON taken
WHEN (OLD.kind = 'sold' AND NEW.kind <> 'free')
  OR (OLD.kind = 'held' AND NEW.kind <> 'free' AND (NEW.owner IS NOT OLD.owner OR NEW.hold IS NOT OLD.hold))
BEGIN SELECT RAISE(ABORT, 'this seat is taken'); END;

CREATE TRIGGER taken_no_delete BEFORE DELETE ON taken
BEGIN SELECT RAISE(ABORT, 'rows of seats are not deleted'); END;

-- The seats as the first specification draws them. Seats never taken have no row in taken.
CREATE VIEW seats AS
WITH RECURSIVE every (event, seat, seat_count) AS (
    SELECT id, 1, seat_count FROM event WHERE seat_count >= 1 AND deleted = 0
    UNION ALL
    SELECT event, seat + 1, seat_count FROM every WHERE seat < seat_count
)
SELECT every.event AS event_id,
       every.seat AS id,
       coalesce(taken.kind <> 'free', 0) AS status,
       taken.owner AS reserved_by,
       taken.phone AS phone,
       event.created_at AS created_at,
       coalesce(taken.at, event.created_at) AS updated_at
FROM every
JOIN event ON event.id = every.event
LEFT JOIN taken ON taken.event = every.event AND taken.seat = every.seat;
