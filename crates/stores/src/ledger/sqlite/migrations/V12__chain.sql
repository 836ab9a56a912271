-- History is a chain per subject. Each row's hash covers its content and the hash of the row before it, so a row
-- that is altered, removed, swapped or added shows. The subject's row has the newest hash. Rows from before this
-- version have no hash: the chain of a subject begins with the first row after them.

-- Where the request came from, and the id that its caller got.
ALTER TABLE history ADD COLUMN address TEXT;
ALTER TABLE history ADD COLUMN trace TEXT;
-- What else is to be told.
ALTER TABLE history ADD COLUMN detail TEXT;
-- The hash covers a digest of the address with this salt. Erasing it removes the salt too, and leaves the digest.
ALTER TABLE history ADD COLUMN salt BLOB;
ALTER TABLE history ADD COLUMN erased BLOB;
-- The digest of what the buyer of a reservation gave. Name, phone and salt stand in the seat's row only, and end
-- with it.
ALTER TABLE history ADD COLUMN contact BLOB;
ALTER TABLE taken ADD COLUMN salt BLOB CHECK (salt IS NULL OR kind = 'sold');
ALTER TABLE history ADD COLUMN hash BLOB;

ALTER TABLE event ADD COLUMN head BLOB;
ALTER TABLE room_type ADD COLUMN head BLOB;

-- What operators do that concerns no event and no room type is the history of the ledger itself, subject 0.
ALTER TABLE ledger ADD COLUMN n INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ledger ADD COLUMN head BLOB;
