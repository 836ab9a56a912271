-- Tokens of operators beside ADMIN_TOKEN, each with a name and a role. Only digests are stored. A token that was
-- replaced or revoked keeps its row: also the configured one must not come back to life.
CREATE TABLE admin_token (
    digest bytea PRIMARY KEY CHECK (length(digest) = 32),
    name text NOT NULL,
    role text NOT NULL CHECK (role IN ('admin', 'viewer', 'service')),
    made_at bigint NOT NULL,
    made_by text NOT NULL,
    ends_at bigint,
    ended_by text,
    CHECK ((ends_at IS NULL) = (ended_by IS NULL))
);

-- Which operator it was, by the name of the token; null in rows from before tokens had names.
ALTER TABLE history ADD COLUMN by_name text;
