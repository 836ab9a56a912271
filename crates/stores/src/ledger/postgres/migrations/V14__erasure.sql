-- Personal data ends: names, phones and addresses are removed, of one person or by their age. What happened stays,
-- and the chain of hashes stays whole.

-- Up to which history number personal data was removed because of its age.
ALTER TABLE event ADD COLUMN erased_to bigint NOT NULL DEFAULT 0;
ALTER TABLE room_type ADD COLUMN erased_to bigint NOT NULL DEFAULT 0;
ALTER TABLE ledger ADD COLUMN erased_to bigint NOT NULL DEFAULT 0;

-- The one change of history that is let through: address and details become null, their digest takes the place of
-- the salt, and nothing else differs, whatever columns there are.
CREATE FUNCTION refuse_unless_erasing() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    personal text[] := ARRAY['address', 'details', 'salt', 'erased'];
BEGIN
    IF OLD.salt IS NOT NULL AND OLD.erased IS NULL AND NEW.salt IS NULL AND length(NEW.erased) = 32
        AND NEW.address IS NULL AND NEW.details IS NULL
        AND to_jsonb(NEW) - personal = to_jsonb(OLD) - personal THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'history is append-only' USING ERRCODE = '23000';
END $$;

DROP TRIGGER history_no_change ON history;
CREATE TRIGGER history_no_update BEFORE UPDATE ON history FOR EACH ROW EXECUTE FUNCTION refuse_unless_erasing();
CREATE TRIGGER history_no_delete BEFORE DELETE ON history FOR EACH ROW EXECUTE FUNCTION refuse('history is append-only');

-- With the rights of the owner: the role of the servers needs none to change history.
CREATE FUNCTION erase_history(subjects bigint[], numbers bigint[], digests bytea[]) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    WITH gone AS (
        UPDATE history h SET address = NULL, details = NULL, salt = NULL, erased = d.digest
        FROM unnest(subjects, numbers, digests) AS d (subject, n, digest)
        WHERE h.event = d.subject AND h.n = d.n AND h.salt IS NOT NULL
        RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

-- A sold seat may lose what its buyer gave. It still changes hands only by being free in between.
DROP TRIGGER taken_one_owner ON taken;
CREATE TRIGGER taken_one_owner BEFORE UPDATE ON taken
    FOR EACH ROW WHEN (
        (OLD.kind = 'sold' AND NEW.kind <> 'free'
            AND (NEW.kind <> 'sold' OR NEW.n IS DISTINCT FROM OLD.n OR NEW.owner IS DISTINCT FROM OLD.owner
                 OR NEW.unit IS DISTINCT FROM OLD.unit))
        OR (OLD.kind = 'held' AND NEW.kind <> 'free'
            AND (NEW.owner IS DISTINCT FROM OLD.owner OR NEW.hold IS DISTINCT FROM OLD.hold)))
    EXECUTE FUNCTION refuse('this seat is taken');
