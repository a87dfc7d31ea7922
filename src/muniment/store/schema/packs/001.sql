-- Where the payloads of packs lie: a local index, made again from the packs' own directories.

-- root: of the Merkle tree over the pack's chunks; idle: since when nothing needs it, Unix ms, NULL while something does;
-- ours = 0: found in a store that may be shared, and never needed here
CREATE TABLE packs (
  id INTEGER PRIMARY KEY,
  name BLOB NOT NULL UNIQUE CHECK (length(name) = 32),
  size INTEGER NOT NULL,
  root BLOB NOT NULL CHECK (length(root) = 32),
  added INTEGER NOT NULL,
  idle INTEGER,
  ours INTEGER NOT NULL CHECK (ours IN (0, 1))
) STRICT;

CREATE TABLE payloads (
  pointer BLOB NOT NULL CHECK (length(pointer) = 32),
  pack INTEGER NOT NULL REFERENCES packs (id),
  start INTEGER NOT NULL,
  length INTEGER NOT NULL,
  PRIMARY KEY (pointer, pack)
) STRICT, WITHOUT ROWID;
CREATE INDEX payloads_pack ON payloads (pack);

-- when a version was last recalled on this peer (days since 1970); kept only where the archive's policy asks for it
CREATE TABLE uses (version BLOB PRIMARY KEY CHECK (length(version) = 33), day INTEGER NOT NULL) STRICT, WITHOUT ROWID;
