"""The lock of a data directory: held by the desk, and by nats-server and simulator, which inherit it."""

import fcntl
import os
import time
from pathlib import Path
from typing import Final, Self

from services.desk.errors import DirectoryInUse
from services.desk.layout import Layout, writing

_POLL_S: Final = 0.05
_MAX_PID_CHARS: Final = 20


class Lock:
    """An exclusive `flock` on `<dir>/lock`; free only when every process that inherited `descriptor` is gone.

    The file holds the pid of the desk. It is never removed, so that two processes can never lock two files of one name.
    """

    def __init__(self, descriptor: int) -> None:
        """Use `Lock.take`."""
        self.descriptor = descriptor

    @classmethod
    def take(cls, layout: Layout, orphans_s: float) -> Self:
        """Take the lock and write our pid into it.

        Raises `DirectoryInUse` with the holder's pid. If that process is dead, its children have `orphans_s` to follow it.
        """
        until = time.monotonic() + orphans_s
        while True:
            with writing(layout.root):
                descriptor = os.open(layout.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            if _locked(descriptor) and _is_at(descriptor, layout.lock):
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
                return cls(descriptor)
            os.close(descriptor)
            holder = holder_of(layout.lock)
            if (holder is not None and _alive(holder)) or time.monotonic() > until:
                raise DirectoryInUse(_in_use(layout.root, holder))
            time.sleep(_POLL_S)

    def release(self) -> None:
        """Give it up; children that inherited it still hold it."""
        os.close(self.descriptor)


def is_held(layout: Layout) -> int | None:
    """The pid of the desk that holds the directory, None if nobody does (0 if it does not say)."""
    try:
        descriptor = os.open(layout.lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return None if _locked(descriptor, fcntl.LOCK_SH) else holder_of(layout.lock) or 0
    finally:
        os.close(descriptor)


def holder_of(path: Path) -> int | None:
    """The pid that stands in a lock file."""
    try:
        text = path.read_text("ascii")[:_MAX_PID_CHARS].strip()
    except (OSError, UnicodeDecodeError):
        return None
    return int(text) if text.isdigit() else None


def _in_use(root: Path, holder: int | None) -> str:
    """The line for whoever came second."""
    who = f"process {holder}" if holder else "another process"
    return f"{root} is in use by {who}: wait for it, stop it, or name another directory with --dir"


def _locked(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    """Try to lock; False if somebody else holds it."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether `path` is still the file that was opened: the directory may have been put aside in between."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _alive(pid: int) -> bool:
    """Whether a process exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
