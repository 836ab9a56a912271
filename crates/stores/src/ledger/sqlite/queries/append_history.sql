-- FAIL leaves going back to the transaction, as in sell_seat.
INSERT OR FAIL INTO history (event, n, what, seat, owner, by_admin, number, at, hold)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
