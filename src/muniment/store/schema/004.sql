-- What names a version says so by the number of its entry, not by the whole id once more: an archived record is named
-- once, and that stood in three trees. Ids of records and digests of writes are found by a part of them.

-- Derived: entries that are named and not here yet; negative, so that none is like a seq.
CREATE TABLE strangers (
  id INTEGER PRIMARY KEY CHECK (id < 0), digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32)
) STRICT;

-- place: of the act that names; target: of the one that is named, with the number of a stranger where its entry is one
CREATE TABLE named (
  place INTEGER NOT NULL, kind INTEGER NOT NULL, target INTEGER NOT NULL, PRIMARY KEY (place, kind, target)
) STRICT, WITHOUT ROWID;

INSERT INTO strangers (id, digest)
  SELECT -row_number() OVER (ORDER BY target), target
  FROM (SELECT DISTINCT target FROM namings WHERE target NOT IN (SELECT id FROM entries));
INSERT INTO named (place, kind, target)
  SELECT n.seq << 8 | n.act, n.kind, coalesce(e.seq, s.id) << 8 | n.target_act
  FROM namings n LEFT JOIN entries e ON e.id = n.target LEFT JOIN strangers s ON s.digest = n.target;
DROP TABLE namings;
ALTER TABLE named RENAME TO namings;
CREATE INDEX namings_target ON namings (target, kind, place);

-- The end of a record's id is drawn at random, its beginning is a time.
DROP INDEX versions_record;
DROP INDEX versions_write;
CREATE INDEX versions_record ON versions (substr(record, 11));
CREATE INDEX versions_write ON versions (substr(write, 1, 6));
