-- The core of the ledger: events, who has which seat, what happened, answers to repeat.
-- Times are milliseconds since 1970 UTC. Every key begins with the event, or with the user and event.

CREATE TABLE ledger (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    id TEXT NOT NULL
) STRICT;

-- One row per event: its description, and the counts that every batch of it changes last.
CREATE TABLE event (
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
    "cursor" INTEGER NOT NULL DEFAULT 0,
    sold INTEGER NOT NULL DEFAULT 0,
    CHECK (sold >= 0 AND sold <= "cursor" AND "cursor" <= seat_count)
) STRICT;

-- How the seats are called. Never changes, so that whoever read it may keep it.
CREATE TABLE hall (
    event INTEGER PRIMARY KEY,
    plan TEXT NOT NULL
) STRICT;

-- One row per seat that was ever sold: two owners have no place to stand.
CREATE TABLE taken (
    event INTEGER NOT NULL,
    seat INTEGER NOT NULL,
    -- How many seats the hall has: carried by the row, because a trigger that looks it up makes
    -- SQLite keep a journal of every single insert.
    hall_seats INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('sold', 'free')),
    owner TEXT,
    unit INTEGER,
    unit_limit INTEGER,
    n INTEGER,
    at INTEGER NOT NULL,
    number INTEGER,
    buyer TEXT,
    phone TEXT,
    PRIMARY KEY (event, seat),
    CHECK (seat >= 1 AND seat <= hall_seats),
    CHECK ((owner IS NULL) = (unit IS NULL) AND (unit IS NULL) = (unit_limit IS NULL)),
    CHECK (unit IS NULL OR (unit >= 1 AND unit <= unit_limit)),
    CHECK ((kind = 'sold') = (n IS NOT NULL)),
    CHECK (kind = 'sold' OR (owner IS NULL AND buyer IS NULL AND phone IS NULL))
) STRICT, WITHOUT ROWID;

-- A user has each unit of an event once, so never more seats than the limit. Also the way to
-- one user's seats.
CREATE UNIQUE INDEX taken_owner ON taken (owner, event, unit) WHERE owner IS NOT NULL;

-- The lowest seat that came back.
CREATE INDEX taken_free ON taken (event, seat) WHERE kind = 'free';

-- A seat changes hands only by being free in between, whatever the code above believes.
CREATE TRIGGER taken_one_owner BEFORE UPDATE ON taken
WHEN OLD.kind = 'sold' AND NEW.kind = 'sold'
BEGIN SELECT RAISE(ABORT, 'this seat is sold'); END;

CREATE TRIGGER taken_no_delete BEFORE DELETE ON taken
BEGIN SELECT RAISE(ABORT, 'rows of seats are not deleted'); END;

-- Append-only, numbered per event without gaps in commit order.
CREATE TABLE history (
    event INTEGER NOT NULL,
    n INTEGER NOT NULL CHECK (n >= 1),
    what TEXT NOT NULL,
    seat INTEGER,
    owner TEXT,
    by_admin INTEGER NOT NULL DEFAULT 0,
    number INTEGER,
    at INTEGER NOT NULL,
    PRIMARY KEY (event, n)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER history_no_update BEFORE UPDATE ON history
BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;

CREATE TRIGGER history_no_delete BEFORE DELETE ON history
BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;

-- Answers kept for an Idempotency-Key, written with the effect they belong to.
CREATE TABLE answer (
    event INTEGER NOT NULL,
    user TEXT NOT NULL,
    key TEXT NOT NULL,
    content BLOB NOT NULL,
    at INTEGER NOT NULL,
    kept TEXT NOT NULL,
    PRIMARY KEY (event, user, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX answer_by_age ON answer (at);

-- The seats as the first specification draws them. Seats never sold have no row in taken.
CREATE VIEW seats AS
WITH RECURSIVE every (event, seat, seat_count) AS (
    SELECT id, 1, seat_count FROM event WHERE seat_count >= 1 AND deleted = 0
    UNION ALL
    SELECT event, seat + 1, seat_count FROM every WHERE seat < seat_count
)
SELECT every.event AS event_id,
       every.seat AS id,
       coalesce(taken.kind = 'sold', 0) AS status,
       taken.owner AS reserved_by,
       taken.phone AS phone,
       event.created_at AS created_at,
       coalesce(taken.at, event.created_at) AS updated_at
FROM every
JOIN event ON event.id = every.event
LEFT JOIN taken ON taken.event = every.event AND taken.seat = every.seat;
