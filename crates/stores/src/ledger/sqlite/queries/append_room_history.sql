-- OR FAIL: the transaction rolls back, not the statement. See sell_seat.
INSERT OR FAIL INTO history (event, n, what, owner, by_admin, by_name, at, hold, check_in, check_out,
                             trace, details, address, salt, hash)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
