-- What a shop keeps with an order. Metadata is an object of JSON as text. Null costs a sale nothing: no index, and a
-- check that looks at nothing else.
ALTER TABLE taken ADD COLUMN email TEXT CHECK (email IS NULL OR kind = 'sold');
ALTER TABLE taken ADD COLUMN metadata TEXT CHECK (metadata IS NULL OR kind = 'sold');

ALTER TABLE hold ADD COLUMN metadata TEXT;
-- Why it was given back.
ALTER TABLE hold ADD COLUMN reason TEXT CHECK (reason IS NULL OR state = 'cancelled');

ALTER TABLE stay ADD COLUMN metadata TEXT;

-- What a row tells beyond its columns: {"metadata":{...},"reason":"..."}, whichever there is.
ALTER TABLE history ADD COLUMN details TEXT;

-- What buyers are asked for (name, phone, email: required, optional or absent); null: as their dialect has it.
ALTER TABLE event ADD COLUMN buyer_fields TEXT;
-- Shown, not computed with. The currency is a code of ISO 4217.
ALTER TABLE event ADD COLUMN price TEXT;
ALTER TABLE event ADD COLUMN currency TEXT CHECK ((price IS NULL) = (currency IS NULL));
ALTER TABLE room_type ADD COLUMN currency TEXT;

-- Archived events are closed and not listed.
ALTER TABLE event ADD COLUMN archived_at INTEGER CHECK (archived_at IS NULL OR state = 'closed');

-- Made for a rehearsal: it may be deleted with what it sold. An event is made so or never becomes so.
ALTER TABLE event ADD COLUMN rehearsal INTEGER NOT NULL DEFAULT 0 CHECK (rehearsal IN (0, 1));

CREATE TRIGGER event_rehearsal_fixed BEFORE UPDATE OF rehearsal ON event
WHEN OLD.rehearsal <> NEW.rehearsal
BEGIN SELECT RAISE(ABORT, 'an event does not become a rehearsal'); END;

DROP TRIGGER taken_no_delete;
CREATE TRIGGER taken_no_delete BEFORE DELETE ON taken
WHEN NOT EXISTS (SELECT 1 FROM event WHERE id = OLD.event AND deleted = 1 AND (rehearsal = 1 OR OLD.kind <> 'sold'))
BEGIN SELECT RAISE(ABORT, 'rows of seats are not deleted'); END;
