-- When this peer first knew of an erase that has to wait: Unix ms by its own clock. Not derived: the author's date could lie.
CREATE TABLE orders (entry BLOB PRIMARY KEY, seen INTEGER NOT NULL) STRICT, WITHOUT ROWID;
