-- The indexes on a column of vectors: their kind, operator class and number of lists.
SELECT am.amname, opc.opcname,
  coalesce((SELECT option_value FROM pg_options_to_table(c.reloptions) WHERE option_name = 'lists'), '100')::int
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  JOIN pg_am am ON am.oid = c.relam
  JOIN pg_opclass opc ON opc.oid = i.indclass[0]
  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
WHERE i.indrelid = to_regclass(%s) AND a.attname = %s AND am.amname IN ('hnsw', 'ivfflat')
