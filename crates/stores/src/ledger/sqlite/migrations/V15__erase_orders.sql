-- What a shop keeps with an order ends as other personal data does: metadata and reasons are removed from holds and
-- stays too, also from those that have ended.

-- An ended row may lose its metadata and its reason, and nothing else differs.
DROP TRIGGER hold_ends_once;
CREATE TRIGGER hold_ends_once BEFORE UPDATE ON hold
WHEN OLD.state <> 'held'
    AND NOT ((NEW.metadata IS NULL OR NEW.metadata IS OLD.metadata) AND (NEW.reason IS NULL OR NEW.reason IS OLD.reason)
        AND NEW.subject IS OLD.subject AND NEW.n IS OLD.n AND NEW.owner IS OLD.owner AND NEW.key IS OLD.key
        AND NEW.stock IS OLD.stock AND NEW.check_in IS OLD.check_in AND NEW.check_out IS OLD.check_out
        AND NEW.first_at IS OLD.first_at AND NEW.at IS OLD.at AND NEW.ends_at IS OLD.ends_at
        AND NEW.state IS OLD.state AND NEW.ended_at IS OLD.ended_at AND NEW.reserved IS OLD.reserved)
BEGIN SELECT RAISE(ABORT, 'this hold has ended'); END;

DROP TRIGGER stay_ends_once;
CREATE TRIGGER stay_ends_once BEFORE UPDATE ON stay
WHEN OLD.cancelled_at IS NOT NULL
    AND NOT (NEW.metadata IS NULL AND NEW.room_type IS OLD.room_type AND NEW.n IS OLD.n AND NEW.owner IS OLD.owner
        AND NEW.check_in IS OLD.check_in AND NEW.check_out IS OLD.check_out AND NEW.hold IS OLD.hold
        AND NEW.at IS OLD.at AND NEW.cancelled_at IS OLD.cancelled_at)
BEGIN SELECT RAISE(ABORT, 'this stay was cancelled'); END;
