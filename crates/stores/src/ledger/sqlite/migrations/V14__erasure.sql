-- Personal data ends: names, phones and addresses are removed, of one person or by their age. What happened stays,
-- and the chain of hashes stays whole.

-- Up to which history number personal data was removed because of its age.
ALTER TABLE event ADD COLUMN erased_to INTEGER NOT NULL DEFAULT 0;
ALTER TABLE room_type ADD COLUMN erased_to INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ledger ADD COLUMN erased_to INTEGER NOT NULL DEFAULT 0;

-- The one change of history that is let through: address and details become null, their digest takes the place of
-- the salt, and nothing else differs.
DROP TRIGGER history_no_update;
CREATE TRIGGER history_no_update BEFORE UPDATE ON history
WHEN NOT (OLD.salt IS NOT NULL AND OLD.erased IS NULL AND NEW.salt IS NULL AND NEW.erased IS NOT NULL
    AND length(NEW.erased) = 32 AND NEW.address IS NULL AND NEW.details IS NULL AND NEW.contact IS OLD.contact
    AND NEW.event IS OLD.event AND NEW.n IS OLD.n AND NEW.what IS OLD.what AND NEW.seat IS OLD.seat
    AND NEW.owner IS OLD.owner AND NEW.by_admin IS OLD.by_admin AND NEW.by_name IS OLD.by_name
    AND NEW.number IS OLD.number AND NEW.at IS OLD.at AND NEW.hold IS OLD.hold AND NEW.check_in IS OLD.check_in
    AND NEW.check_out IS OLD.check_out AND NEW.trace IS OLD.trace AND NEW.detail IS OLD.detail
    AND NEW.hash IS OLD.hash)
BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;

-- A sold seat may lose what its buyer gave. It still changes hands only by being free in between.
DROP TRIGGER taken_one_owner;
CREATE TRIGGER taken_one_owner BEFORE UPDATE ON taken
WHEN (OLD.kind = 'sold' AND NEW.kind <> 'free'
        AND (NEW.kind <> 'sold' OR NEW.n IS NOT OLD.n OR NEW.owner IS NOT OLD.owner OR NEW.unit IS NOT OLD.unit))
  OR (OLD.kind = 'held' AND NEW.kind <> 'free' AND (NEW.owner IS NOT OLD.owner OR NEW.hold IS NOT OLD.hold))
BEGIN SELECT RAISE(ABORT, 'this seat is taken'); END;
