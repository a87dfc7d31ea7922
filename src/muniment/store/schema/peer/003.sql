-- banks that are served, where else they may be had, who asks for them, and what other peers showed

CREATE TABLE shares (
  bank BLOB PRIMARY KEY,
  since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A way to another peer for one bank, and how it went. `mark` is how far the entries here are known to be there too.
CREATE TABLE routes (
  bank BLOB NOT NULL,
  address TEXT NOT NULL,
  source TEXT NOT NULL CHECK (source IN ('ticket', 'added', 'learnt')),
  created INTEGER NOT NULL,
  peer BLOB,
  tried INTEGER,
  succeeded INTEGER,
  agreed INTEGER,
  failures INTEGER NOT NULL DEFAULT 0,
  error TEXT,
  mark INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (bank, address)
) STRICT, WITHOUT ROWID;

-- Banks that were asked for and are not here yet. A claim is what was signed with an invite; its secret is not kept.
CREATE TABLE wanted (
  bank BLOB PRIMARY KEY,
  key BLOB NOT NULL CHECK (length(key) = 32),
  level TEXT NOT NULL,
  said BLOB NOT NULL,
  created INTEGER NOT NULL,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Strangers who ask for a bank that is served here.
CREATE TABLE requests (
  bank BLOB NOT NULL,
  key BLOB NOT NULL CHECK (length(key) = 32),
  level TEXT NOT NULL,
  note TEXT NOT NULL,
  created INTEGER NOT NULL,
  until INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'denied')),
  PRIMARY KEY (bank, key, level)
) STRICT, WITHOUT ROWID;

-- The newest entries of each key that each peer showed last, and what was odd about them.
CREATE TABLE shown (
  bank BLOB NOT NULL,
  peer BLOB NOT NULL,
  author BLOB NOT NULL,
  tips BLOB NOT NULL,
  PRIMARY KEY (bank, peer, author)
) STRICT, WITHOUT ROWID;

CREATE TABLE odd (
  bank BLOB NOT NULL,
  author BLOB NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('rolled back')),
  peer BLOB NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (bank, author, kind)
) STRICT, WITHOUT ROWID;
