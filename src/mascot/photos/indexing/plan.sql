-- The temporary database of `TableSink`: files of the walk, rows of the table, and labels of moments.
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16384;
CREATE TABLE files (
  number INTEGER PRIMARY KEY,  -- in the order of the walk
  path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, sidecars TEXT NOT NULL,
  item BLOB NOT NULL,          -- the order
  is_readable INTEGER NOT NULL DEFAULT 0, taken TEXT, lat REAL, lon REAL, city TEXT, camera TEXT,
  moment TEXT, stamp TEXT, written INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE rows (path TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, stamp TEXT, old INTEGER NOT NULL)
  WITHOUT ROWID;
CREATE TABLE labels (number INTEGER PRIMARY KEY, moment TEXT NOT NULL);
BEGIN
