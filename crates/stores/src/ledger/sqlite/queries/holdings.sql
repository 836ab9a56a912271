-- Users' seats in one event: one probe of taken_owner each.
WITH wanted (owner) AS (VALUES (?))
SELECT seat, n, unit, at, wanted.owner
FROM wanted CROSS JOIN taken INDEXED BY taken_owner ON taken.owner = wanted.owner AND event = ?
