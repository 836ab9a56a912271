UPDATE taken SET ends_at = ?4 WHERE event = ?1 AND seat = ?2 AND kind = 'held' AND hold = ?3
