-- What these users have in one event: one probe of taken_owner each. Written as a probe, because for
-- `owner = ANY (...)` the planner may prefer to read all rows of the event.
SELECT mine.owner, mine.seat, mine.n, mine.unit, mine.at
FROM unnest($2::text[]) AS asked (owner)
CROSS JOIN LATERAL (
    SELECT owner, seat, n, unit, at FROM taken WHERE taken.owner = asked.owner AND event = $1 OFFSET 0
) AS mine
