-- The primary key of a table, if it is one column.
SELECT a.attname
FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
WHERE i.indrelid = to_regclass(%s) AND i.indisprimary AND i.indnkeyatts = 1
