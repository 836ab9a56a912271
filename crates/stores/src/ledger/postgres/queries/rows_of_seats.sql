-- What the seats that were asked for are now.
SELECT seat, kind, owner, ends_at FROM taken WHERE event = $1 AND seat = ANY ($2::integer[])
