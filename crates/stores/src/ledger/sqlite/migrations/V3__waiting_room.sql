-- The waiting room: its settings, who is inside and who ever was, and the keys of the tickets.

ALTER TABLE event ADD COLUMN inside INTEGER NOT NULL DEFAULT 0 CHECK (inside >= 0);
ALTER TABLE event ADD COLUMN room_most INTEGER CHECK (room_most >= 1);
ALTER TABLE event ADD COLUMN room_ttl_ms INTEGER;
ALTER TABLE event ADD COLUMN room_max_age_ms INTEGER;
ALTER TABLE event ADD COLUMN room_idle_ms INTEGER;
-- Somebody stood in line once: if the door forgets, people come back with their tickets.
ALTER TABLE event ADD COLUMN line_used INTEGER NOT NULL DEFAULT 0;
-- Tickets of older keys do not count here.
ALTER TABLE event ADD COLUMN oldest_key INTEGER NOT NULL DEFAULT 0;

-- One row per number that ever entered: a number is spent for ever.
CREATE TABLE entry (
    event INTEGER NOT NULL,
    number INTEGER NOT NULL,
    user_id TEXT NOT NULL,
    token BLOB NOT NULL CHECK (length(token) = 16),
    -- The history row of its beginning.
    n INTEGER NOT NULL,
    begins INTEGER NOT NULL,
    ends INTEGER NOT NULL,
    -- It is not renewed beyond this.
    cap INTEGER NOT NULL,
    -- It was the nth inside, of at most so many.
    nth INTEGER NOT NULL,
    most INTEGER NOT NULL,
    -- Given back, or lapsed and noticed.
    over_at INTEGER,
    PRIMARY KEY (event, number),
    CHECK (nth >= 1 AND nth <= most),
    CHECK (begins < ends AND ends <= cap),
    CHECK (over_at IS NULL OR (over_at >= begins AND over_at <= ends))
) STRICT, WITHOUT ROWID;

-- One entry per user and event, whatever the code above believes.
CREATE UNIQUE INDEX entry_user ON entry (event, user_id) WHERE over_at IS NULL;

-- The entries that end first.
CREATE INDEX entry_ends ON entry (event, ends) WHERE over_at IS NULL;

CREATE TRIGGER entry_stays_over BEFORE UPDATE ON entry
WHEN OLD.over_at IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'this entry is over'); END;

CREATE TRIGGER entry_no_delete BEFORE DELETE ON entry
BEGIN SELECT RAISE(ABORT, 'entries are kept'); END;

-- What tickets are signed with; the newest signs.
CREATE TABLE ticket_key (
    id INTEGER PRIMARY KEY,
    secret BLOB NOT NULL CHECK (length(secret) = 32),
    made_at INTEGER NOT NULL
) STRICT;
