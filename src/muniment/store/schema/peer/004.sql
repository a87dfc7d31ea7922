-- custody: for whom blobs are kept here, what is kept, who keeps blobs of this peer, and how they proved it

CREATE TABLE custody_allowed (
  owner BLOB PRIMARY KEY CHECK (length(owner) = 32),
  bytes INTEGER NOT NULL,
  days INTEGER NOT NULL,
  created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE custody_kept (
  owner BLOB NOT NULL CHECK (length(owner) = 32),
  blob BLOB NOT NULL CHECK (length(blob) = 32),
  size INTEGER NOT NULL,
  root BLOB NOT NULL,
  until INTEGER NOT NULL,
  receipt BLOB,
  created INTEGER NOT NULL,
  PRIMARY KEY (owner, blob)
) STRICT, WITHOUT ROWID;

-- Chunks of blobs that are on their way here, so that a cut transfer goes on where it was.
CREATE TABLE custody_parts (
  id INTEGER PRIMARY KEY,
  owner BLOB NOT NULL,
  blob BLOB NOT NULL,
  number INTEGER NOT NULL,
  data BLOB NOT NULL,
  UNIQUE (owner, blob, number)
) STRICT;

-- Who keeps a blob of this peer. `proven` is when it last proved it; `alarm` why it is not counted.
CREATE TABLE custody_given (
  blob BLOB NOT NULL CHECK (length(blob) = 32),
  holder BLOB NOT NULL CHECK (length(holder) = 32),
  address TEXT NOT NULL,
  receipt BLOB NOT NULL,
  until INTEGER NOT NULL,
  since INTEGER NOT NULL,
  proven INTEGER,
  tried INTEGER,
  alarm TEXT,
  PRIMARY KEY (blob, holder)
) STRICT, WITHOUT ROWID;

-- The payloads of blobs that were given away: a receipt for a pack is one for each of them.
CREATE TABLE custody_payloads (
  pointer BLOB NOT NULL,
  blob BLOB NOT NULL,
  PRIMARY KEY (pointer, blob)
) STRICT, WITHOUT ROWID;

CREATE TABLE custody_log (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  blob BLOB NOT NULL,
  holder BLOB NOT NULL,
  what TEXT NOT NULL
) STRICT;
