"""The tables of a history file, one entry per version; a file is brought up to date step by step when it is opened.

Entries are never changed once released, only added: old files exist.
"""

from __future__ import annotations

APPLICATION = 0x54524947  # "TRIG" in the header of the file: another program's database is never touched

MIGRATIONS = (
    # 1: builds, their runs, the time of each marker in each run, and the to-do list of each run
    """
    CREATE TABLE build (
        id INTEGER PRIMARY KEY, branch TEXT NOT NULL, revision TEXT NOT NULL, scope TEXT NOT NULL, device TEXT NOT NULL,
        at INTEGER NOT NULL,                    -- seconds since 1970: of the commit where known, else of the first run
        UNIQUE (branch, revision, scope, device));
    CREATE TABLE run (
        id INTEGER PRIMARY KEY, build INTEGER NOT NULL REFERENCES build, sha256 TEXT NOT NULL, path TEXT NOT NULL,
        added INTEGER NOT NULL, frame_ns REAL, recoverable_ns REAL, version TEXT NOT NULL, rules TEXT NOT NULL,
        UNIQUE (build, sha256));
    CREATE TABLE marker (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);  -- levels of its path joined by U+001F
    CREATE TABLE cause (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, title TEXT NOT NULL);
    CREATE TABLE time (                         -- exclusive time, and the root cause that leads the marker
        run INTEGER NOT NULL REFERENCES run, marker INTEGER NOT NULL REFERENCES marker, ns REAL NOT NULL,
        cause INTEGER REFERENCES cause, PRIMARY KEY (run, marker)) WITHOUT ROWID;
    CREATE TABLE todo (
        run INTEGER NOT NULL REFERENCES run, cause INTEGER NOT NULL REFERENCES cause, rank INTEGER NOT NULL,
        saved_ns REAL, share REAL, level TEXT NOT NULL, confidence TEXT NOT NULL, workloads INTEGER NOT NULL,
        PRIMARY KEY (run, cause)) WITHOUT ROWID;
    """,
    # 2: names for builds, such as a release that later ones are held against
    """
    CREATE TABLE label (name TEXT PRIMARY KEY, build INTEGER NOT NULL REFERENCES build) WITHOUT ROWID;
    CREATE INDEX build_order ON build (scope, device, branch, at, id);
    """,
)
VERSION = len(MIGRATIONS)
