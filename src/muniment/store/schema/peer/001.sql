-- What one installation knows beside its banks; never synced.

CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE banks (
  bank BLOB PRIMARY KEY CHECK (length(bank) = 36),
  kind TEXT NOT NULL CHECK (kind IN ('agent', 'shared')),
  name TEXT NOT NULL,
  agent BLOB CHECK (length(agent) = 32),
  file TEXT NOT NULL UNIQUE,
  listed INTEGER NOT NULL CHECK (listed IN (0, 1)),
  created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE agents (
  folded TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  key BLOB NOT NULL UNIQUE CHECK (length(key) = 32),
  bank BLOB NOT NULL UNIQUE REFERENCES banks (bank),
  controller BLOB NOT NULL CHECK (length(controller) = 32),
  created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE names (key BLOB PRIMARY KEY CHECK (length(key) = 32), name TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (name BLOB PRIMARY KEY, agent BLOB NOT NULL, created INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE attachments (
  session BLOB NOT NULL REFERENCES sessions (name),
  bank BLOB NOT NULL REFERENCES banks (bank),
  PRIMARY KEY (session, bank)
) STRICT, WITHOUT ROWID;

CREATE TABLE credentials (provider TEXT PRIMARY KEY, sealed BLOB NOT NULL) STRICT, WITHOUT ROWID;

-- answered requests, kept until they could no longer be taken for new ones
CREATE TABLE nonces (nonce BLOB PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX nonces_until ON nonces (until);

-- entries that a peer has not confirmed yet
CREATE TABLE outbox (
  bank BLOB NOT NULL REFERENCES banks (bank),
  peer BLOB NOT NULL,
  entry BLOB NOT NULL,
  PRIMARY KEY (bank, peer, entry)
) STRICT, WITHOUT ROWID;
