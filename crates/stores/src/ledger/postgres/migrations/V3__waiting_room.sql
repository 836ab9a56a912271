-- The waiting room: its settings, who is inside and who ever was, and the keys of the tickets.

ALTER TABLE event
    ADD COLUMN inside integer NOT NULL DEFAULT 0 CHECK (inside >= 0),
    ADD COLUMN room_most integer CHECK (room_most >= 1),
    ADD COLUMN room_ttl_ms bigint,
    ADD COLUMN room_max_age_ms bigint,
    ADD COLUMN room_idle_ms bigint,
    -- Somebody stood in line once: if the door forgets, people come back with their tickets.
    ADD COLUMN line_used boolean NOT NULL DEFAULT false,
    -- Tickets of older keys do not count here.
    ADD COLUMN oldest_key integer NOT NULL DEFAULT 0;

-- One row per number that ever entered: a number is spent for ever.
CREATE TABLE entry (
    event bigint NOT NULL,
    number bigint NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    token bytea NOT NULL CHECK (length(token) = 16),
    -- The history row of its beginning.
    n bigint NOT NULL,
    begins bigint NOT NULL,
    ends bigint NOT NULL,
    -- It is not renewed beyond this.
    cap bigint NOT NULL,
    -- It was the nth inside, of at most so many.
    nth integer NOT NULL,
    most integer NOT NULL,
    -- Given back, or lapsed and noticed.
    over_at bigint,
    PRIMARY KEY (event, number),
    CHECK (nth >= 1 AND nth <= most),
    CHECK (begins < ends AND ends <= cap),
    CHECK (over_at IS NULL OR (over_at >= begins AND over_at <= ends))
);

-- One entry per user and event, whatever the code above believes.
CREATE UNIQUE INDEX entry_user ON entry (event, user_id) WHERE over_at IS NULL;

-- The entries that end first.
CREATE INDEX entry_ends ON entry (event, ends) WHERE over_at IS NULL;

CREATE TRIGGER entry_stays_over BEFORE UPDATE ON entry
    FOR EACH ROW WHEN (OLD.over_at IS NOT NULL)
    EXECUTE FUNCTION refuse('this entry is over');

CREATE TRIGGER entry_no_delete BEFORE DELETE ON entry
    FOR EACH ROW EXECUTE FUNCTION refuse('entries are kept');

CREATE TRIGGER entry_no_truncate BEFORE TRUNCATE ON entry
    EXECUTE FUNCTION refuse('entries are kept');

-- What tickets are signed with; the newest signs.
CREATE TABLE ticket_key (
    id integer PRIMARY KEY,
    secret bytea NOT NULL CHECK (length(secret) = 32),
    made_at bigint NOT NULL
);
