-- Tokens of operators beside ADMIN_TOKEN, each with a name and a role. Only digests are stored. A token that was
-- replaced or revoked keeps its row: also the configured one must not come back to life.
CREATE TABLE admin_token (
    digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('admin', 'viewer', 'service')),
    made_at INTEGER NOT NULL,
    made_by TEXT NOT NULL,
    ends_at INTEGER,
    ended_by TEXT,
    CHECK ((ends_at IS NULL) = (ended_by IS NULL))
) STRICT, WITHOUT ROWID;

-- Which operator it was, by the name of the token; null in rows from before tokens had names.
ALTER TABLE history ADD COLUMN by_name TEXT;
