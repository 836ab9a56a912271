-- What a shop keeps with an order ends as other personal data does: metadata and reasons are removed from holds and
-- stays too, also from those that have ended.

-- An ended row may lose its metadata and its reason, and nothing else differs, whatever columns there are.
CREATE FUNCTION refuse_unless_erasing_order() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    was jsonb := to_jsonb(OLD);
    becomes jsonb := to_jsonb(NEW);
    personal text[] := ARRAY['metadata', 'reason'];
BEGIN
    IF was - personal = becomes - personal
        AND (becomes ->> 'metadata' IS NULL OR becomes ->> 'metadata' = was ->> 'metadata')
        AND (becomes ->> 'reason' IS NULL OR becomes ->> 'reason' = was ->> 'reason') THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = '23000';
END $$;

DROP TRIGGER hold_ends_once ON hold;
CREATE TRIGGER hold_ends_once BEFORE UPDATE ON hold
    FOR EACH ROW WHEN (OLD.state <> 'held') EXECUTE FUNCTION refuse_unless_erasing_order('this hold has ended');

DROP TRIGGER stay_ends_once ON stay;
CREATE TRIGGER stay_ends_once BEFORE UPDATE ON stay
    FOR EACH ROW WHEN (OLD.cancelled_at IS NOT NULL)
    EXECUTE FUNCTION refuse_unless_erasing_order('this stay was cancelled');
