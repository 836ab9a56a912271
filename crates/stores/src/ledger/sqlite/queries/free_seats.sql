-- The lowest seats that came back: the partial index holds nothing else.
SELECT seat FROM taken WHERE event = ?1 AND kind = 'free' ORDER BY seat LIMIT ?2
