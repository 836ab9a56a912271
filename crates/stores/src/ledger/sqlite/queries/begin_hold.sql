-- OR FAIL: the transaction rolls back, not the statement. See sell_seat.
INSERT OR FAIL INTO hold
    (subject, n, owner, key, stock, check_in, check_out, first_at, at, ends_at, state, ended_at, reserved, metadata,
     reason)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
