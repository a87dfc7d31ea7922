-- One bank. Ids are the 32 bytes of a sha-256; the four that every id starts with are left out.
-- place = seq << 8 | act: one number for an act of a stored entry.

CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;

-- Entries and bodies: never wrong, never made again from anything else.

CREATE TABLE authors (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE CHECK (length(key) = 32)) STRICT;

-- key = id of the entry that started the epoch, then the act's index in two bytes
CREATE TABLE epochs (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE CHECK (length(key) = 34)) STRICT;

CREATE TABLE entries (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 32),
  author INTEGER NOT NULL REFERENCES authors (id),
  at INTEGER NOT NULL,
  control INTEGER NOT NULL CHECK (control IN (0, 1)),
  verdict INTEGER NOT NULL,
  local INTEGER NOT NULL CHECK (local IN (0, 1)),
  readable INTEGER NOT NULL CHECK (readable IN (0, 1)),
  epoch INTEGER REFERENCES epochs (id),
  prev BLOB NOT NULL CHECK (length(prev) % 32 = 0),
  envelope BLOB NOT NULL
) STRICT;
-- serves both the newest clock value signed here and one author's entries at one clock value
CREATE INDEX entries_clock ON entries (local, at, author);
CREATE INDEX entries_control ON entries (control) WHERE control = 1;
CREATE INDEX entries_verdict ON entries (verdict) WHERE verdict <> 0;

-- an author's entries that no entry of the same author names in prev
CREATE TABLE tips (author INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (author, seq)) STRICT, WITHOUT ROWID;

-- ids named in prev that are not here, with the author of the entry that names them
CREATE TABLE wanted (id BLOB NOT NULL, author INTEGER NOT NULL, PRIMARY KEY (id, author)) STRICT, WITHOUT ROWID;

-- Rows of these two tables are only ever appended, and overwritten in place when a body is erased: were
-- they inserted between others or deleted, SQLite would move neighbours to other pages and leave copies
-- of them behind, which no later erasure finds (secure_delete clears what is deleted, not what is moved).
CREATE TABLE bodies (place INTEGER PRIMARY KEY, gone INTEGER NOT NULL, sealed BLOB NOT NULL) STRICT;
CREATE TABLE late_bodies (
  id INTEGER PRIMARY KEY, place INTEGER NOT NULL, gone INTEGER NOT NULL, sealed BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX late_bodies_place ON late_bodies (place) WHERE gone = 0;

-- bodies that have not come yet (erased = 0), or were destroyed (erased = 1)
CREATE TABLE absent (place INTEGER PRIMARY KEY, erased INTEGER NOT NULL CHECK (erased IN (0, 1))) STRICT;

-- Derived from entries: emptied and made again by a rebuild.

CREATE TABLE versions (
  ord INTEGER PRIMARY KEY,
  place INTEGER NOT NULL,
  author INTEGER NOT NULL REFERENCES authors (id),
  record BLOB NOT NULL CHECK (length(record) = 16),
  key_group BLOB,
  content BLOB NOT NULL,
  write BLOB NOT NULL,
  state INTEGER NOT NULL,
  type BLOB NOT NULL,
  tool INTEGER NOT NULL CHECK (tool IN (0, 1)),
  recalled INTEGER NOT NULL CHECK (recalled IN (0, 1)),
  session INTEGER NOT NULL,
  created INTEGER NOT NULL,
  at INTEGER NOT NULL,
  ended INTEGER
) STRICT;
CREATE UNIQUE INDEX versions_place ON versions (place);
CREATE INDEX versions_record ON versions (record);
CREATE INDEX versions_group ON versions (key_group, state) WHERE key_group IS NOT NULL;
CREATE INDEX versions_write ON versions (write);
CREATE INDEX versions_session ON versions (session, created) WHERE session <> 0;
CREATE INDEX versions_newest ON versions (created, at);
CREATE INDEX versions_state ON versions (state) WHERE state <> 0;

CREATE TABLE facets (hash INTEGER NOT NULL, ord INTEGER NOT NULL, PRIMARY KEY (hash, ord)) STRICT, WITHOUT ROWID;

CREATE TABLE namings (
  seq INTEGER NOT NULL,
  act INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  target BLOB NOT NULL CHECK (length(target) = 32),
  target_act INTEGER NOT NULL,
  PRIMARY KEY (seq, act, kind, target, target_act)
) STRICT, WITHOUT ROWID;
CREATE INDEX namings_target ON namings (target, target_act);

-- "values" is a word of SQL
CREATE TABLE named_values (
  space BLOB NOT NULL, name BLOB NOT NULL, seq INTEGER NOT NULL, act INTEGER NOT NULL,
  PRIMARY KEY (space, name, seq, act)
) STRICT, WITHOUT ROWID;

-- which acts are vectors, and of which model; whose they are stands in namings
CREATE TABLE models (id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE) STRICT;
CREATE TABLE vectors (
  seq INTEGER NOT NULL, act INTEGER NOT NULL, model INTEGER NOT NULL REFERENCES models (id),
  PRIMARY KEY (seq, act)
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE) STRICT;

CREATE TABLE changes (number INTEGER PRIMARY KEY, ord INTEGER NOT NULL, state INTEGER NOT NULL) STRICT;
