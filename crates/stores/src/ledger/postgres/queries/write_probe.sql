-- Checks for free space: writes some 1.3 MB where this database has its tables, removed at the end of the statement.
CREATE TEMPORARY TABLE write_probe ON COMMIT DROP AS
SELECT n, md5(n::text) FROM generate_series(1, 20000) AS n
