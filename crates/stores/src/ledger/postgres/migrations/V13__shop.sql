-- What a shop keeps with an order. Metadata is an object of JSON as text: it is returned as it was sent.
ALTER TABLE taken
    ADD COLUMN email text,
    ADD COLUMN metadata text,
    ADD CONSTRAINT taken_sold_has_order CHECK (kind = 'sold' OR (email IS NULL AND metadata IS NULL));

ALTER TABLE hold
    ADD COLUMN metadata text,
    -- Why it was given back.
    ADD COLUMN reason text,
    ADD CONSTRAINT hold_reason_of_cancelled CHECK (reason IS NULL OR state = 'cancelled');

ALTER TABLE stay ADD COLUMN metadata text;

-- What a row tells beyond its columns: {"metadata":{...},"reason":"..."}, whichever there is.
ALTER TABLE history ADD COLUMN details text;

ALTER TABLE event
    -- What buyers are asked for (name, phone, email: required, optional or absent); null: as their dialect has it.
    ADD COLUMN buyer_fields text,
    -- Shown, not computed with. The currency is a code of ISO 4217.
    ADD COLUMN price text,
    ADD COLUMN currency text,
    -- Archived events are closed and not listed.
    ADD COLUMN archived_at bigint,
    -- Made for a rehearsal: it may be deleted with what it sold. An event is made so or never becomes so.
    ADD COLUMN rehearsal boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT event_price_has_currency CHECK ((price IS NULL) = (currency IS NULL)),
    ADD CONSTRAINT event_archived_is_closed CHECK (archived_at IS NULL OR state = 'closed');

ALTER TABLE room_type ADD COLUMN currency text;

CREATE TRIGGER event_rehearsal_fixed BEFORE UPDATE OF rehearsal ON event
    FOR EACH ROW WHEN (OLD.rehearsal <> NEW.rehearsal) EXECUTE FUNCTION refuse('an event does not become a rehearsal');

CREATE FUNCTION refuse_unless_rehearsal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM event WHERE id = OLD.event AND deleted AND rehearsal) THEN
        RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = '23000';
    END IF;
    RETURN OLD;
END $$;

DROP TRIGGER taken_sold_stays ON taken;
CREATE TRIGGER taken_sold_stays BEFORE DELETE ON taken
    FOR EACH ROW WHEN (OLD.kind = 'sold') EXECUTE FUNCTION refuse_unless_rehearsal('rows of seats are not deleted');
