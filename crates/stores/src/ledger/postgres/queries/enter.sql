-- The primary key refuses a used number, and entry_user a second live entry of one user.
INSERT INTO entry (event, number, user_id, token, n, begins, ends, cap, nth, most)
SELECT $1, e.* FROM unnest($2::bigint[], $3::text[], $4::bytea[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::integer[], $10::integer[]) AS e
