-- Room types with their nights, and holds on nights and on seats.
-- Dates are days since 1970-01-01 by the property's own calendar. Tables that events and room types
-- share name the subject in one column: events count up, room types down (room type 7 is -7).

-- One row per room type: its description, and the number that every batch of it changes last.
CREATE TABLE room_type (
    id INTEGER PRIMARY KEY CHECK (id >= 1),
    name TEXT NOT NULL,
    description TEXT,
    price TEXT,
    time_zone TEXT NOT NULL,
    total INTEGER NOT NULL CHECK (total >= 0),
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    n INTEGER NOT NULL CHECK (n >= 0)
) STRICT;

-- One row per night that was ever held. It carries its total, so that it can refuse by itself;
-- held counts the holds whose row says held, also those that have lapsed and were not turned yet.
CREATE TABLE night (
    room_type INTEGER NOT NULL,
    day INTEGER NOT NULL,
    total INTEGER NOT NULL,
    reserved INTEGER NOT NULL DEFAULT 0,
    held INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (room_type, day),
    CHECK (reserved >= 0 AND held >= 0),
    CHECK (reserved <= total AND reserved + held <= total)
) STRICT, WITHOUT ROWID;

-- One row per hold, named by the history number it began with. stock is what it holds, in one
-- spelling: 2026-12-24/2026-12-26, or seats in order with commas between them.
CREATE TABLE hold (
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
    state TEXT NOT NULL CHECK (state IN ('held', 'confirmed', 'cancelled', 'expired', 'replaced')),
    ended_at INTEGER,
    reserved TEXT,
    PRIMARY KEY (subject, n),
    CHECK ((check_in IS NULL) = (check_out IS NULL) AND (check_in IS NULL) = (subject > 0)),
    CHECK (check_in IS NULL OR check_in < check_out),
    CHECK (first_at <= at AND at < ends_at),
    CHECK ((state = 'held') = (ended_at IS NULL)),
    CHECK ((state = 'confirmed') = (reserved IS NOT NULL)),
    -- Nobody pays for what has ended.
    CHECK (state <> 'confirmed' OR ended_at < ends_at),
    CHECK (state <> 'expired' OR ended_at >= ends_at)
) STRICT, WITHOUT ROWID;

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

-- Confirmed stays, named by the history number of their confirmation.
CREATE TABLE stay (
    room_type INTEGER NOT NULL,
    n INTEGER NOT NULL,
    owner TEXT NOT NULL,
    check_in INTEGER NOT NULL,
    check_out INTEGER NOT NULL CHECK (check_in < check_out),
    hold INTEGER NOT NULL,
    at INTEGER NOT NULL,
    cancelled_at INTEGER,
    PRIMARY KEY (room_type, n)
) STRICT, WITHOUT ROWID;

-- A hold becomes one stay.
CREATE UNIQUE INDEX stay_hold ON stay (hold, room_type);

CREATE INDEX stay_owner ON stay (owner, room_type, n) WHERE cancelled_at IS NULL;

CREATE TRIGGER stay_ends_once BEFORE UPDATE ON stay
WHEN OLD.cancelled_at IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'this stay was cancelled'); END;

CREATE TRIGGER stay_no_delete BEFORE DELETE ON stay
BEGIN SELECT RAISE(ABORT, 'rows of stays are not deleted'); END;

-- How long the holds of an event last, in ms; null: as everywhere.
ALTER TABLE event ADD COLUMN hold_ttl INTEGER CHECK (hold_ttl > 0);

-- The hold that a row of history is about, and the dates of a stay.
ALTER TABLE history ADD COLUMN hold INTEGER;
ALTER TABLE history ADD COLUMN check_in INTEGER;
ALTER TABLE history ADD COLUMN check_out INTEGER;

-- The daily stock as the fifth specification draws it: confirmed stays only.
CREATE VIEW room_type_stock AS
SELECT room_type AS room_type_id, date(day * 86400, 'unixepoch') AS target_date, total AS total_quantity,
       reserved AS reserved_count
FROM night;
