-- Room types with their nights, and holds on nights and on seats.
-- Dates are days since 1970-01-01 by the property's own calendar. Tables that events and room types
-- share name the subject in one column: events count up, room types down (room type 7 is -7).

-- One row per room type: its description, and the number that every batch of it changes last. This
-- is the row that every batch locks first.
CREATE TABLE room_type (
    id bigint PRIMARY KEY CHECK (id >= 1),
    name text NOT NULL,
    description text,
    price text,
    time_zone text NOT NULL,
    total integer NOT NULL CHECK (total >= 0),
    created_at bigint NOT NULL,
    changed_at bigint NOT NULL,
    n bigint NOT NULL CHECK (n >= 0)
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- One row per night that was ever held. It carries its total, so that it can refuse by itself;
-- held counts the holds whose row says held, also those that have lapsed and were not turned yet.
CREATE TABLE night (
    room_type bigint NOT NULL,
    day integer NOT NULL,
    total integer NOT NULL,
    reserved integer NOT NULL DEFAULT 0,
    held integer NOT NULL DEFAULT 0,
    PRIMARY KEY (room_type, day),
    CHECK (reserved >= 0 AND held >= 0),
    CHECK (reserved <= total AND reserved + held <= total)
) WITH (fillfactor = 25, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- One row per hold, named by the history number it began with. stock is what it holds, in one
-- spelling: 2026-12-24/2026-12-26, or seats in order with commas between them.
CREATE TABLE hold (
    subject bigint NOT NULL,
    n bigint NOT NULL,
    owner text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    stock text COLLATE "C" NOT NULL,
    check_in integer,
    check_out integer,
    first_at bigint NOT NULL,
    at bigint NOT NULL,
    ends_at bigint NOT NULL,
    state text NOT NULL CHECK (state IN ('held', 'confirmed', 'cancelled', 'expired', 'replaced')),
    ended_at bigint,
    reserved text,
    PRIMARY KEY (subject, n),
    CHECK ((check_in IS NULL) = (check_out IS NULL) AND (check_in IS NULL) = (subject > 0)),
    CHECK (check_in IS NULL OR check_in < check_out),
    CHECK (first_at <= at AND at < ends_at),
    CHECK ((state = 'held') = (ended_at IS NULL)),
    CHECK ((state = 'confirmed') = (reserved IS NOT NULL)),
    -- Nobody pays for what has ended.
    CHECK (state <> 'confirmed' OR ended_at < ends_at),
    CHECK (state <> 'expired' OR ended_at >= ends_at)
);

-- One live hold per user and stock; also the way to one user's holds.
CREATE UNIQUE INDEX hold_owner ON hold (owner, subject, stock) WHERE state = 'held';

-- A client's key names one hold on the same stock.
CREATE UNIQUE INDEX hold_key ON hold (key, subject, stock) WHERE state = 'held';

-- What has lapsed, oldest first.
CREATE INDEX hold_end ON hold (subject, ends_at) WHERE state = 'held';

-- A hold ends once, whatever the code above believes.
CREATE TRIGGER hold_ends_once BEFORE UPDATE ON hold
    FOR EACH ROW WHEN (OLD.state <> 'held') EXECUTE FUNCTION refuse('this hold has ended');

CREATE TRIGGER hold_no_delete BEFORE DELETE ON hold
    FOR EACH ROW WHEN (OLD.state = 'held') EXECUTE FUNCTION refuse('a hold that lasts is not deleted');

CREATE TRIGGER hold_no_truncate BEFORE TRUNCATE ON hold
    EXECUTE FUNCTION refuse('a hold that lasts is not deleted');

-- Confirmed stays, named by the history number of their confirmation.
CREATE TABLE stay (
    room_type bigint NOT NULL,
    n bigint NOT NULL,
    owner text COLLATE "C" NOT NULL,
    check_in integer NOT NULL,
    check_out integer NOT NULL CHECK (check_in < check_out),
    hold bigint NOT NULL,
    at bigint NOT NULL,
    cancelled_at bigint,
    PRIMARY KEY (room_type, n)
);

-- A hold becomes one stay.
CREATE UNIQUE INDEX stay_hold ON stay (hold, room_type);

CREATE INDEX stay_owner ON stay (owner, room_type, n) WHERE cancelled_at IS NULL;

CREATE TRIGGER stay_ends_once BEFORE UPDATE ON stay
    FOR EACH ROW WHEN (OLD.cancelled_at IS NOT NULL) EXECUTE FUNCTION refuse('this stay was cancelled');

CREATE TRIGGER stay_no_delete BEFORE DELETE ON stay
    FOR EACH ROW EXECUTE FUNCTION refuse('rows of stays are not deleted');

CREATE TRIGGER stay_no_truncate BEFORE TRUNCATE ON stay
    EXECUTE FUNCTION refuse('rows of stays are not deleted');

-- How long the holds of an event last, in ms; null: as everywhere.
ALTER TABLE event ADD COLUMN hold_ttl bigint CHECK (hold_ttl > 0);

-- The hold that a row of history is about, and the dates of a stay.
ALTER TABLE history ADD COLUMN hold bigint, ADD COLUMN check_in integer, ADD COLUMN check_out integer;

-- The daily stock as the fifth specification draws it: confirmed stays only.
CREATE VIEW room_type_stock AS
SELECT room_type AS room_type_id, date '1970-01-01' + day AS target_date, total AS total_quantity,
       reserved AS reserved_count
FROM night;
