CREATE TABLE photos (
  id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, folder TEXT NOT NULL,
  size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, hash TEXT NOT NULL,
  width INTEGER NOT NULL, height INTEGER NOT NULL,
  lat REAL, lon REAL, altitude REAL, taken TEXT, offset INTEGER, camera TEXT, lens TEXT,
  title TEXT, caption TEXT, keywords TEXT NOT NULL, rating INTEGER, quality REAL,
  city TEXT, country TEXT, season TEXT, part_of_day TEXT, moment TEXT, problems TEXT NOT NULL
);

CREATE INDEX photos_by_hash ON photos (hash);

CREATE INDEX photos_by_taken ON photos (taken);

CREATE TABLE pixels (
  photo INTEGER PRIMARY KEY REFERENCES photos ON DELETE CASCADE, thumbnail BLOB NOT NULL, look BLOB NOT NULL
);

-- A vector per space: the old ones are searched while the library is encoded again.
CREATE TABLE vectors (
  photo INTEGER NOT NULL REFERENCES photos ON DELETE CASCADE, space TEXT NOT NULL, stamp TEXT NOT NULL,
  vector BLOB NOT NULL, PRIMARY KEY (photo, space)
);

-- The state of a photograph's sidecars when it was read. Most photographs have none.
CREATE TABLE sidecars (photo INTEGER PRIMARY KEY REFERENCES photos ON DELETE CASCADE, state TEXT NOT NULL);

-- The state of a file that crashed a decoder: it is not tried again until its state changes.
CREATE TABLE skipped (path TEXT PRIMARY KEY, reason TEXT NOT NULL, state TEXT);

CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);

-- The text in photographs, by the hash of their content.
CREATE TABLE texts (hash TEXT PRIMARY KEY, text TEXT NOT NULL);

CREATE TRIGGER texts_after_DELETE AFTER DELETE ON photos
WHEN NOT EXISTS (SELECT 1 FROM photos WHERE hash = old.hash) BEGIN DELETE FROM texts WHERE hash = old.hash; END;

CREATE TRIGGER texts_after_UPDATE AFTER UPDATE ON photos
WHEN NOT EXISTS (SELECT 1 FROM photos WHERE hash = old.hash) BEGIN DELETE FROM texts WHERE hash = old.hash; END;
