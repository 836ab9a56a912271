-- Removes every key of a deleted event. Were it asked for again, its numbers would begin a new generation.
--
-- keys   all keys of the event but those that end by themselves within minutes
-- reply  how many there were
--
-- example  EVALSHA <sha> 2 door:{e:1} fcfs:seq:{e:1}  ->  2

return redis.call('UNLINK', unpack(KEYS))
