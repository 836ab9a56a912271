-- OR FAIL: the transaction rolls back, not the statement. See sell_seat.
INSERT OR FAIL INTO history (event, n, what, seat, owner, by_admin, by_name, number, at, hold, contact,
                             trace, details, address, salt, hash)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
