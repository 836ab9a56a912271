-- Ends: what is removed after a while, and how it is found.

-- When everything of a deleted event was removed, but this row and its history.
ALTER TABLE event ADD COLUMN tidied_at bigint;

-- Deleted events that still have rows. No column of it changes in a sale: that would cost every sale an
-- entry in the index.
CREATE INDEX event_to_tidy ON event (id) WHERE deleted AND tidied_at IS NULL;

-- Kept answers of all subjects by their age: they are removed in the background, not by the next batch of
-- their subject.
DROP INDEX answer_by_age;
CREATE INDEX answer_by_age ON answer (at);

-- Holds that ended without a sale, by their age.
CREATE INDEX hold_ended ON hold (ended_at) WHERE state <> 'held' AND state <> 'confirmed';

-- Seats, entries and holds are removed with their event only. Nobody has a seat in a deleted event.
CREATE FUNCTION refuse_unless_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    row_event bigint := (to_jsonb(OLD) ->> TG_ARGV[1])::bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM event WHERE id = row_event AND deleted) THEN
        RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = '23000';
    END IF;
    RETURN OLD;
END $$;

DROP TRIGGER taken_no_delete ON taken;
CREATE TRIGGER taken_no_delete BEFORE DELETE ON taken
    FOR EACH ROW EXECUTE FUNCTION refuse_unless_deleted('rows of seats are not deleted', 'event');
CREATE TRIGGER taken_sold_stays BEFORE DELETE ON taken
    FOR EACH ROW WHEN (OLD.kind = 'sold') EXECUTE FUNCTION refuse('rows of seats are not deleted');

DROP TRIGGER entry_no_delete ON entry;
CREATE TRIGGER entry_no_delete BEFORE DELETE ON entry
    FOR EACH ROW EXECUTE FUNCTION refuse_unless_deleted('entries are kept', 'event');

DROP TRIGGER hold_no_delete ON hold;
CREATE TRIGGER hold_no_delete BEFORE DELETE ON hold
    FOR EACH ROW WHEN (OLD.state IN ('held', 'confirmed'))
    EXECUTE FUNCTION refuse_unless_deleted('a hold that lasts is not deleted', 'subject');

-- A deleted event stays deleted: its seats may be gone.
CREATE TRIGGER event_stays_deleted BEFORE UPDATE OF deleted ON event
    FOR EACH ROW WHEN (OLD.deleted AND NOT NEW.deleted) EXECUTE FUNCTION refuse('this event was deleted');
