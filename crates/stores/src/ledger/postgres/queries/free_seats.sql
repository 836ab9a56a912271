-- The lowest seats that came back. Where every row is sold there are none, and the planner is not
-- given the chance to look for them through all of them.
SELECT seat FROM taken
WHERE event = $1 AND kind = 'free' AND (SELECT sold < "cursor" FROM event WHERE id = $1)
ORDER BY seat LIMIT $2
