-- History is a chain per subject. Each row's hash covers its content and the hash of the row before it, so a row
-- that is altered, removed, swapped or added shows. The subject's row has the newest hash. Rows from before this
-- version have no hash: the chain of a subject begins with the first row after them.

ALTER TABLE history
    -- Where the request came from, and the id that its caller got.
    ADD COLUMN address text,
    ADD COLUMN trace text,
    -- What else is to be told.
    ADD COLUMN detail text,
    -- The hash covers a digest of the address with this salt. Erasing it removes the salt too, and leaves the digest.
    ADD COLUMN salt bytea,
    ADD COLUMN erased bytea,
    -- The digest of what the buyer of a reservation gave. Name, phone and salt stand in the seat's row only, and end
    -- with it.
    ADD COLUMN contact bytea,
    ADD COLUMN hash bytea;

-- No row without a hash from now on. Servers of an earlier version write none, and are refused.
ALTER TABLE history ADD CONSTRAINT history_chained CHECK (hash IS NOT NULL AND length(hash) = 32) NOT VALID;

ALTER TABLE taken
    ADD COLUMN salt bytea,
    ADD CONSTRAINT taken_salt_of_sold CHECK (salt IS NULL OR kind = 'sold');

ALTER TABLE event ADD COLUMN head bytea;
ALTER TABLE room_type ADD COLUMN head bytea;

-- What operators do that concerns no event and no room type is the history of the ledger itself, subject 0.
ALTER TABLE ledger ADD COLUMN n bigint NOT NULL DEFAULT 0, ADD COLUMN head bytea;
