"""The files of a SQLite database: taken away together, or put in place of another in one step."""

import os
import sqlite3
from pathlib import Path
from typing import Final

SIDE_FILES: Final = ("-wal", "-shm", "-journal")
READERS_WAIT_S: Final = 1.0
"""How long a new database waits for readers of the old one."""


def discard(database: Path) -> None:
    """Remove a database and what SQLite keeps beside it."""
    for path in (database, *_beside(database)):
        path.unlink(missing_ok=True)


def install(built: Path, database: Path) -> None:
    """Put the closed database `built` in the place of `database`; a crash leaves the old or the new one, never a broken one.

    The old write-ahead log is emptied into its own database and removed first: SQLite would replay it into the new one. Where
    that cannot be done, because someone reads it for long or it is damaged, the old database is removed before its log.
    """
    if database.exists() and not _empty_log(database):
        database.unlink()
    for path in _beside(database):
        path.unlink(missing_ok=True)
    _sync(built)
    built.replace(database)
    _sync(database.parent)


def _beside(database: Path) -> list[Path]:
    """What SQLite may keep beside a database."""
    return [database.with_name(database.name + suffix) for suffix in SIDE_FILES]


def _empty_log(database: Path) -> bool:
    """Bring everything into the database file itself; False if a reader or damage prevents it."""
    connection = sqlite3.connect(database, timeout=READERS_WAIT_S)
    try:
        busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.DatabaseError:
        return False
    finally:
        connection.close()
    return not busy


def _sync(path: Path) -> None:
    """Wait until a file or directory is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
