-- The core of the ledger: events, who has which seat, what happened, answers to repeat.
-- Times are milliseconds since 1970 UTC. Every key contains the event, so that all of this can be
-- partitioned or distributed by it.

CREATE TABLE ledger (
    only_row integer PRIMARY KEY CHECK (only_row = 1),
    id text NOT NULL
);

-- One row per event: its description, and the counts that every batch of it changes last. This is
-- the row that every batch locks first. Room is left in each page, so that the change of counts
-- stays on it and touches no index.
CREATE TABLE event (
    id bigint PRIMARY KEY,
    name text NOT NULL,
    seat_count integer NOT NULL CHECK (seat_count >= 0),
    max_per_user integer NOT NULL CHECK (max_per_user >= 1),
    opens_at bigint,
    state text NOT NULL CHECK (state IN ('scheduled', 'open', 'paused', 'closed')),
    deleted boolean NOT NULL DEFAULT false,
    created_at bigint NOT NULL,
    changed_at bigint NOT NULL,
    generation bigint NOT NULL DEFAULT -1,
    n bigint NOT NULL CHECK (n >= 0),
    "cursor" integer NOT NULL DEFAULT 0,
    sold integer NOT NULL DEFAULT 0,
    CHECK (sold >= 0 AND sold <= "cursor" AND "cursor" <= seat_count)
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- How the seats are called. Never changes, so that whoever read it may keep it.
CREATE TABLE hall (
    event bigint PRIMARY KEY,
    plan text NOT NULL
);

-- One row per seat that was ever sold: two owners have no place to stand.
CREATE TABLE taken (
    event bigint NOT NULL,
    seat integer NOT NULL CHECK (seat >= 1),
    kind text NOT NULL CHECK (kind IN ('sold', 'free')),
    owner text COLLATE "C",
    unit integer,
    unit_limit integer,
    n bigint,
    at bigint NOT NULL,
    number bigint,
    buyer text,
    phone text,
    PRIMARY KEY (event, seat),
    CHECK ((owner IS NULL) = (unit IS NULL) AND (unit IS NULL) = (unit_limit IS NULL)),
    CHECK (unit IS NULL OR (unit >= 1 AND unit <= unit_limit)),
    CHECK ((kind = 'sold') = (n IS NOT NULL)),
    CHECK (kind = 'sold' OR (owner IS NULL AND buyer IS NULL AND phone IS NULL))
);

-- A user has each unit of an event once, so never more seats than the limit. Also the way to
-- one user's seats.
CREATE UNIQUE INDEX taken_owner ON taken (owner, event, unit) WHERE owner IS NOT NULL;

-- The lowest seat that came back.
CREATE INDEX taken_free ON taken (event, seat) WHERE kind = 'free';

-- Refuses what the triggers below name. Class 23: only the guilty request of a batch fails.
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = '23000';
END $$;

-- A seat changes hands only by being free in between, whatever the code above believes.
CREATE TRIGGER taken_one_owner BEFORE UPDATE ON taken
    FOR EACH ROW WHEN (OLD.kind = 'sold' AND NEW.kind = 'sold')
    EXECUTE FUNCTION refuse('this seat is sold');

CREATE TRIGGER taken_no_delete BEFORE DELETE ON taken
    FOR EACH ROW EXECUTE FUNCTION refuse('rows of seats are not deleted');

CREATE TRIGGER taken_no_truncate BEFORE TRUNCATE ON taken
    EXECUTE FUNCTION refuse('rows of seats are not deleted');

-- Once per statement, not per row: a batch inserts hundreds of seats of one event.
CREATE FUNCTION seats_in_hall() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM inserted LEFT JOIN event ON event.id = inserted.event
               WHERE inserted.seat > coalesce(event.seat_count, 0)) THEN
        RAISE EXCEPTION 'no such seat' USING ERRCODE = '23000';
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER taken_in_hall AFTER INSERT ON taken
    REFERENCING NEW TABLE AS inserted
    FOR EACH STATEMENT EXECUTE FUNCTION seats_in_hall();

-- Append-only, numbered per event without gaps in commit order. The first row of a batch carries
-- the batch's own id: that is how a server whose connection broke at COMMIT knows its rows from
-- another server's.
CREATE TABLE history (
    event bigint NOT NULL,
    n bigint NOT NULL CHECK (n >= 1),
    what text NOT NULL,
    seat integer,
    owner text,
    by_admin boolean NOT NULL DEFAULT false,
    number bigint,
    at bigint NOT NULL,
    batch text,
    PRIMARY KEY (event, n)
);

CREATE TRIGGER history_no_change BEFORE UPDATE OR DELETE ON history
    FOR EACH ROW EXECUTE FUNCTION refuse('history is append-only');

CREATE TRIGGER history_no_truncate BEFORE TRUNCATE ON history
    EXECUTE FUNCTION refuse('history is append-only');

-- Answers kept for an Idempotency-Key, written with the effect they belong to.
CREATE TABLE answer (
    event bigint NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    content bytea NOT NULL,
    at bigint NOT NULL,
    kept text NOT NULL,
    PRIMARY KEY (event, user_id, key)
);

CREATE INDEX answer_by_age ON answer (event, at);

-- What the ledger calls now. The offset is 0 outside tests: that is how they move time.
-- clock_timestamp(), not now(): a transaction that waited for a lock must not live in the past.
CREATE FUNCTION ledger_now() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
         + coalesce(nullif(current_setting('tickettock.clock_offset_ms', true), ''), '0')::bigint
$$;

-- A guarded write that hit anything but its own rows means that the rules and the rows disagree.
-- An error here ends the transaction, so COMMIT may be sent without waiting for the counts.
CREATE FUNCTION exactly(hit bigint, wanted bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    IF hit IS DISTINCT FROM wanted THEN
        RAISE EXCEPTION 'the rules and the rows disagree: % instead of %', hit, wanted USING ERRCODE = '23000';
    END IF;
    RETURN hit;
END $$;

-- The seats as the first specification draws them. Seats never sold have no row in taken.
CREATE VIEW seats AS
SELECT event.id AS event_id,
       every.seat AS id,
       coalesce(taken.kind = 'sold', false) AS status,
       taken.owner AS reserved_by,
       taken.phone AS phone,
       to_timestamp(event.created_at / 1000.0) AS created_at,
       to_timestamp(coalesce(taken.at, event.created_at) / 1000.0) AS updated_at
FROM event
CROSS JOIN LATERAL generate_series(1, event.seat_count) AS every (seat)
LEFT JOIN taken ON taken.event = event.id AND taken.seat = every.seat
WHERE NOT event.deleted;
