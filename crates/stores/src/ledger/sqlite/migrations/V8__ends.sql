-- Ends: what is removed after a while, and how it is found.

-- When everything of a deleted event was removed, but this row and its history.
ALTER TABLE event ADD COLUMN tidied_at INTEGER;

-- Deleted events that still have rows.
CREATE INDEX event_to_tidy ON event (id) WHERE deleted = 1 AND tidied_at IS NULL;

-- Holds that ended without a sale, by their age.
CREATE INDEX hold_ended ON hold (ended_at) WHERE state <> 'held' AND state <> 'confirmed';

-- Seats, entries and holds are removed with their event only. Nobody has a seat in a deleted event.
DROP TRIGGER taken_no_delete;
CREATE TRIGGER taken_no_delete BEFORE DELETE ON taken
WHEN OLD.kind = 'sold' OR NOT EXISTS (SELECT 1 FROM event WHERE id = OLD.event AND deleted = 1)
BEGIN SELECT RAISE(ABORT, 'rows of seats are not deleted'); END;

DROP TRIGGER entry_no_delete;
CREATE TRIGGER entry_no_delete BEFORE DELETE ON entry
WHEN NOT EXISTS (SELECT 1 FROM event WHERE id = OLD.event AND deleted = 1)
BEGIN SELECT RAISE(ABORT, 'entries are kept'); END;

DROP TRIGGER hold_no_delete;
CREATE TRIGGER hold_no_delete BEFORE DELETE ON hold
WHEN (OLD.state = 'held' OR OLD.state = 'confirmed')
    AND NOT EXISTS (SELECT 1 FROM event WHERE id = OLD.subject AND deleted = 1)
BEGIN SELECT RAISE(ABORT, 'a hold that lasts is not deleted'); END;

-- A deleted event stays deleted: its seats may be gone.
CREATE TRIGGER event_stays_deleted BEFORE UPDATE OF deleted ON event
WHEN OLD.deleted = 1 AND NEW.deleted = 0
BEGIN SELECT RAISE(ABORT, 'this event was deleted'); END;
