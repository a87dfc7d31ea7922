-- who may come over a network: names bound to agents, and bearer tokens (hashes only)

CREATE TABLE bindings (
  did TEXT PRIMARY KEY,
  agent BLOB NOT NULL CHECK (length(agent) = 32),
  signature BLOB NOT NULL CHECK (length(signature) = 64),
  created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  hash BLOB NOT NULL CHECK (length(hash) = 32),
  agent BLOB NOT NULL CHECK (length(agent) = 32),
  rights TEXT NOT NULL CHECK (rights IN ('read', 'write')),
  label TEXT,
  created INTEGER NOT NULL,
  expires INTEGER,
  revoked INTEGER
) STRICT, WITHOUT ROWID;
