-- Webhooks: who is told what happened, and how far. The history is the outbox.
CREATE TABLE webhook (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    url TEXT NOT NULL,
    -- Separated by commas.
    types TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('enabled', 'disabled', 'failing')),
    why TEXT,
    secret BLOB NOT NULL CHECK (length(secret) BETWEEN 24 AND 64),
    old_secret BLOB,
    old_ends_at INTEGER,
    made_at INTEGER NOT NULL,
    made_by TEXT NOT NULL,
    CHECK ((old_secret IS NULL) = (old_ends_at IS NULL))
) STRICT;

-- How far each endpoint was told of each subject. A subject without a row was made after the endpoint: it is told from
-- the beginning.
CREATE TABLE webhook_cursor (
    webhook INTEGER NOT NULL,
    subject INTEGER NOT NULL,
    n INTEGER NOT NULL,
    -- Seats sold at that row.
    sold INTEGER NOT NULL,
    -- The opening by the clock that was told last.
    opened INTEGER,
    rewound INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    next_at INTEGER,
    failing_since INTEGER,
    PRIMARY KEY (webhook, subject)
) STRICT, WITHOUT ROWID;

-- The last attempts of each endpoint.
CREATE TABLE webhook_delivery (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    webhook INTEGER NOT NULL,
    subject INTEGER,
    n INTEGER NOT NULL,
    kind TEXT NOT NULL,
    message TEXT NOT NULL,
    at INTEGER NOT NULL,
    took_ms INTEGER NOT NULL,
    status INTEGER,
    error TEXT
) STRICT;

CREATE INDEX webhook_delivery_of ON webhook_delivery (webhook, seq);
