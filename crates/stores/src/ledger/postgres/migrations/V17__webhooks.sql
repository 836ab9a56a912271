-- Webhooks: who is told what happened, and how far. The history is the outbox.
CREATE TABLE webhook (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    url text NOT NULL,
    -- Separated by commas.
    types text NOT NULL,
    state text NOT NULL CHECK (state IN ('enabled', 'disabled', 'failing')),
    why text,
    secret bytea NOT NULL CHECK (length(secret) BETWEEN 24 AND 64),
    old_secret bytea,
    old_ends_at bigint,
    made_at bigint NOT NULL,
    made_by text NOT NULL,
    -- The one server that delivers to it, and until when.
    holder text,
    held_until bigint,
    CHECK ((old_secret IS NULL) = (old_ends_at IS NULL)),
    CHECK ((holder IS NULL) = (held_until IS NULL))
);

-- How far each endpoint was told of each subject. A subject without a row was made after the endpoint: it is told from
-- the beginning.
CREATE TABLE webhook_cursor (
    webhook bigint NOT NULL REFERENCES webhook ON DELETE CASCADE,
    subject bigint NOT NULL,
    n bigint NOT NULL,
    -- Seats sold at that row.
    sold bigint NOT NULL,
    -- The opening by the clock that was told last.
    opened bigint,
    rewound bigint NOT NULL DEFAULT 0,
    attempts integer NOT NULL DEFAULT 0,
    next_at bigint,
    failing_since bigint,
    PRIMARY KEY (webhook, subject)
);

-- The last attempts of each endpoint.
CREATE TABLE webhook_delivery (
    webhook bigint NOT NULL REFERENCES webhook ON DELETE CASCADE,
    seq bigint GENERATED ALWAYS AS IDENTITY,
    subject bigint,
    n bigint NOT NULL,
    kind text NOT NULL,
    message text NOT NULL,
    at bigint NOT NULL,
    took_ms bigint NOT NULL,
    status integer,
    error text,
    PRIMARY KEY (webhook, seq)
);
