-- The same tables with checks that cost less. For IN with more than two values SQLite builds a table
-- of them anew for every row that it checks, which was a tenth of the time of a sale; and what each
-- kind of row must have is now looked at for that kind alone. SQLite cannot change a check of a table,
-- so the two are made anew and their rows are copied.

DROP VIEW seats;

-- One row per seat that was ever sold or held: two owners have no place to stand.
CREATE TABLE taken_5 (
    event INTEGER NOT NULL,
    seat INTEGER NOT NULL,
    -- How many seats the hall has: carried by the row, because a trigger that looks it up makes
    -- SQLite keep a journal of every single insert.
    hall_seats INTEGER NOT NULL,
    kind TEXT NOT NULL,
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
    CHECK (CASE WHEN owner IS NULL THEN unit IS NULL AND unit_limit IS NULL
           ELSE unit IS NOT NULL AND unit_limit IS NOT NULL AND unit >= 1 AND unit <= unit_limit END),
    CHECK (CASE kind
           WHEN 'sold' THEN n IS NOT NULL AND ends_at IS NULL
           WHEN 'held' THEN n IS NOT NULL AND ends_at IS NOT NULL AND owner IS NOT NULL AND hold IS NOT NULL
           WHEN 'free' THEN n IS NULL AND ends_at IS NULL AND owner IS NULL AND buyer IS NULL AND phone IS NULL
               AND hold IS NULL
           ELSE 0 END)
) STRICT, WITHOUT ROWID;

INSERT INTO taken_5
SELECT event, seat, hall_seats, kind, owner, unit, unit_limit, n, at, number, buyer, phone, hold, ends_at
FROM taken ORDER BY event, seat;

DROP TABLE taken;
ALTER TABLE taken_5 RENAME TO taken;

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

-- One row per hold, named by the history number it began with. stock is what it holds, in one
-- spelling: 2026-12-24/2026-12-26, or seats in order with commas between them.
CREATE TABLE hold_5 (
    subject INTEGER NOT NULL,
    n INTEGER NOT NULL,
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    stock TEXT NOT NULL,
    check_in INTEGER,
    check_out INTEGER,
    first_at INTEGER NOT NULL,
    at INTEGER NOT NULL,
    ends_at INTEGER NOT NULL,
    state TEXT NOT NULL,
    ended_at INTEGER,
    reserved TEXT,
    PRIMARY KEY (subject, n),
    CHECK ((check_in IS NULL) = (check_out IS NULL) AND (check_in IS NULL) = (subject > 0)),
    CHECK (check_in IS NULL OR check_in < check_out),
    CHECK (first_at <= at AND at < ends_at),
    -- A hold that ended did so once; nobody pays for what has ended.
    CHECK (CASE state
           WHEN 'held' THEN ended_at IS NULL AND reserved IS NULL
           WHEN 'confirmed' THEN ended_at IS NOT NULL AND reserved IS NOT NULL AND ended_at < ends_at
           WHEN 'cancelled' THEN ended_at IS NOT NULL AND reserved IS NULL
           WHEN 'replaced' THEN ended_at IS NOT NULL AND reserved IS NULL
           WHEN 'expired' THEN ended_at IS NOT NULL AND reserved IS NULL AND ended_at >= ends_at
           ELSE 0 END)
) STRICT, WITHOUT ROWID;

INSERT INTO hold_5
SELECT subject, n, owner, key, stock, check_in, check_out, first_at, at, ends_at, state, ended_at, reserved
FROM hold ORDER BY subject, n;

DROP TABLE hold;
ALTER TABLE hold_5 RENAME TO hold;

-- One live hold per user and stock; also the way to one user's holds.
CREATE UNIQUE INDEX hold_owner ON hold (owner, subject, stock) WHERE state = 'held';

-- A client's key names one hold on the same stock.
CREATE UNIQUE INDEX hold_key ON hold (key, subject, stock) WHERE state = 'held';

-- What has lapsed, oldest first.
CREATE INDEX hold_end ON hold (subject, ends_at) WHERE state = 'held';

-- A hold ends once, whatever the code above believes.
CREATE TRIGGER hold_ends_once BEFORE UPDATE ON hold
WHEN OLD.state <> 'held'
BEGIN SELECT RAISE(ABORT, 'this hold has ended'); END;

CREATE TRIGGER hold_no_delete BEFORE DELETE ON hold
WHEN OLD.state = 'held'
BEGIN SELECT RAISE(ABORT, 'a hold that lasts is not deleted'); END;

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
