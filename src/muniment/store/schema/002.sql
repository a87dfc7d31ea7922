-- The archive: bodies that were let go because their words lie in a blob, and which versions are archived.

-- Their rows in bodies and late_bodies are filled with zeros like erased ones, and taken out by `compact`.
CREATE TABLE released (place INTEGER PRIMARY KEY) STRICT;

-- Derived: archived = a standing archive act names the version; stub = its row was made from a stub
CREATE TABLE shelves (
  ord INTEGER PRIMARY KEY,
  archived INTEGER NOT NULL CHECK (archived IN (0, 1)),
  stub INTEGER NOT NULL CHECK (stub IN (0, 1))
) STRICT;
CREATE INDEX namings_archive ON namings (seq, act) WHERE kind = 5;

-- Erased versions whose words may still stand in the log or in index files; 0 for one without a number.
CREATE TABLE traces (ord INTEGER PRIMARY KEY) STRICT;

-- dead_bytes: of bodies that are gone and still have their room in the file; compacting: rows are being taken out,
-- and until the file is written anew, copies of others may lie in its free pages
INSERT INTO meta (name, value) VALUES ('dead_bytes', 0), ('compacting', 0);
