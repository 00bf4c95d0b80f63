"""One writer per database file: an advisory lock beside it, free again when the process that holds it is gone."""

import fcntl
import os
from pathlib import Path


class DatabaseInUse(Exception):
    """Another process writes this database, with its pid where known."""


def lock_file(database: Path) -> Path:
    """Where the lock of a database is."""
    return database.with_name(f"{database.name}.lock")


class WriterLock:
    """Held from creation to `release`."""

    def __init__(self, database: Path) -> None:
        """Take `<database>.lock`; raises `DatabaseInUse` at once if another process, or another part of this one, has it."""
        self._descriptor = os.open(lock_file(database), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(self._descriptor, 20).decode("ascii", "replace").strip() or "unknown"
            os.close(self._descriptor)
            raise DatabaseInUse(f"{database} is being written by process {holder}: stop the desk first") from error
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Give it back; the file stays, so that two processes never lock two files of one name."""
        os.close(self._descriptor)
