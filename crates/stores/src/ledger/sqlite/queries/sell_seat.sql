-- Sells a seat for the first time. The primary key refuses a second owner. OR FAIL: the transaction rolls
-- back, not the statement. For ABORT, SQLite copies every page that a multi-row statement changes.
INSERT OR FAIL INTO taken (event, seat, kind, owner, unit, unit_limit, n, at, number, buyer, phone, email, metadata,
                           salt, hall_seats)
VALUES (?, ?, 'sold', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
