-- Sells a seat for the first time. The primary key refuses a second owner. FAIL leaves going back to
-- the transaction: for ABORT, SQLite copies every page that a statement of several rows changes.
INSERT OR FAIL INTO taken (event, seat, kind, owner, unit, unit_limit, n, at, number, buyer, phone, hall_seats)
VALUES (?, ?, 'sold', ?, ?, ?, ?, ?, ?, ?, ?, ?)
