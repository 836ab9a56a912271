-- What a user held and gave back, newest last: the same stock cannot be held again within the cool-down. The
-- condition differs from that of hold_ended, so that a query for one index cannot use the other.
CREATE INDEX hold_given_back ON hold (owner, stock, ended_at) WHERE ended_at IS NOT NULL AND reserved IS NULL;
