-- The tables of a knowledge store of version 1.
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES ('sequence', 0);

CREATE TABLE entries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    caption TEXT NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    attributes TEXT NOT NULL,      -- JSON object of strings, in the order given
    source TEXT NOT NULL
);

CREATE TABLE chunks (
    label INTEGER PRIMARY KEY AUTOINCREMENT,
    entry INTEGER NOT NULL REFERENCES entries (number) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    text TEXT NOT NULL,
    space TEXT NOT NULL,           -- what made the vector: vectors of different spaces do not compare
    vector BLOB NOT NULL           -- float32, little-endian, L2-normalised
);
CREATE INDEX chunks_of_entry ON chunks (entry);
CREATE INDEX chunks_in_space ON chunks (space, entry);

CREATE TABLE picture_files (sha256 BLOB PRIMARY KEY, encoded BLOB NOT NULL);
CREATE TABLE pictures (
    label INTEGER PRIMARY KEY AUTOINCREMENT,
    entry INTEGER NOT NULL REFERENCES entries (number) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    sha256 BLOB NOT NULL REFERENCES picture_files (sha256),
    space TEXT NOT NULL,
    vector BLOB NOT NULL
);
CREATE INDEX pictures_of_entry ON pictures (entry);
CREATE INDEX pictures_in_space ON pictures (space, entry);
CREATE INDEX pictures_of_file ON pictures (sha256);

CREATE TABLE graphs (
    kind TEXT PRIMARY KEY,         -- pictures or chunks
    file TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    space TEXT NOT NULL,
    sequence INTEGER NOT NULL
) WITHOUT ROWID;
PRAGMA application_id = 1364870988;
PRAGMA user_version = 1;
