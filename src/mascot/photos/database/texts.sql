-- The text in photographs, by the hash of their content; only in libraries whose text was read.
CREATE TABLE IF NOT EXISTS texts (hash TEXT PRIMARY KEY, text TEXT NOT NULL);

CREATE TRIGGER IF NOT EXISTS texts_after_DELETE AFTER DELETE ON photos
WHEN NOT EXISTS (SELECT 1 FROM photos WHERE hash = old.hash) BEGIN DELETE FROM texts WHERE hash = old.hash; END;

CREATE TRIGGER IF NOT EXISTS texts_after_UPDATE AFTER UPDATE ON photos
WHEN NOT EXISTS (SELECT 1 FROM photos WHERE hash = old.hash) BEGIN DELETE FROM texts WHERE hash = old.hash; END;
