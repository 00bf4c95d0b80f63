"""The data directory: what lies where in it, and how an old one is put aside."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from services.desk.errors import UsageError
from shared.bus.rights import LOG
from shared.protocol.ids import STREAM

DEFAULT_DIR: Final = ".propdesk"
MAX_OLD: Final = 10_000
MAX_LOCK_BYTES: Final = 32
OF_FILE_SYSTEM: Final = frozenset({"lost+found"})
"""What lies in a new file system and is nobody's."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Paths inside one data directory."""

    root: Path

    @property
    def lock(self) -> Path:
        """Locked while a desk, its nats-server or its simulator lives; holds the desk's pid."""
        return self.root / "lock"

    @property
    def stream(self) -> Path:
        """The event log and the server's own files."""
        return self.root / "js"

    @property
    def broker(self) -> Path:
        """The simulator's own memory."""
        return self.root / "broker"

    @property
    def broker_port(self) -> Path:
        """Where the simulator says on which port it listens."""
        return self.broker / "port"

    @property
    def keys(self) -> Path:
        """Secret keys, one file each, for the owner alone."""
        return self.root / "keys"

    @property
    def logs(self) -> Path:
        """One log file per service."""
        return self.root / "logs"

    @property
    def services(self) -> Path:
        """One folder per service, for what it can lose."""
        return self.root / "services"

    @property
    def stopped(self) -> Path:
        """Why the desk must not be started as it is; only there after the log was found incomplete."""
        return self.root / "stopped.json"

    @property
    def journal(self) -> Path:
        """The read models, which can be deleted and replayed."""
        return self.root / "journal.db"

    @property
    def has_log(self) -> bool:
        """Whether there is an event log to go on with."""
        return self._stream_of(LOG).is_dir()

    @property
    def has_unsigned_log(self) -> bool:
        """Whether there is one of a version that had no keys."""
        return self._stream_of("$G").is_dir()

    def _stream_of(self, account: str) -> Path:
        """Where the server keeps the stream of an account."""
        return self.stream / "jetstream" / account / "streams" / STREAM

    @property
    def is_ours(self) -> bool:
        """Whether a desk made the directory: a folder named `js` alone may be anybody's."""
        return _is_lock(self.lock) or self.has_log or (self.broker / "journal.jsonl").is_file() or self.services.is_dir()

    @property
    def is_foreign(self) -> bool:
        """Whether the directory holds something, and nothing of a desk; keys that were made for one are its own."""
        if not self.root.is_dir() or self.is_ours:
            return False
        known = {*OF_FILE_SYSTEM, self.keys.name} if (self.keys / "root.pub").is_file() else OF_FILE_SYSTEM
        return any(path.name not in known for path in self.root.iterdir())

    def folder_of(self, service: str) -> Path:
        """The folder of one service."""
        return self.services / service

    def log_of(self, service: str) -> Path:
        """The log file of one service."""
        return self.logs / f"{service}.log"

    def make(self) -> None:
        """Make the folders; raises `UsageError` where that is not allowed."""
        with writing(self.root):
            for folder in (self.root, self.stream, self.broker, self.logs):
                folder.mkdir(parents=True, exist_ok=True)


def _is_lock(path: Path) -> bool:
    """Whether a file is a desk's lock: empty, or a process id and a newline."""
    if not path.is_file() or path.stat().st_size > MAX_LOCK_BYTES:
        return False
    text = path.read_bytes().strip()
    return not text or text.isdigit()


@contextmanager
def writing(root: Path) -> Iterator[None]:
    """Turn a refusal of the file system into a `UsageError` that names the directory."""
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename and str(error.filename) != str(root) else ""
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"cannot write in {root}{where}: {reason}; name another directory with --dir or PROPDESK_DIR") from error


def put_aside(layout: Layout) -> Path:
    """Rename a data directory to `<name>-old-<n>` with the smallest free n, which is returned. Deletes nothing.

    Raises `UsageError` for a directory that is more than that (the current one, the home directory) or cannot be renamed.
    """
    root = layout.root
    if root.resolve() in {Path.cwd(), Path.home(), *Path.cwd().parents}:
        raise UsageError(f"--fresh would rename {root}, which is more than a data directory: name another one with --dir")
    for n in range(1, MAX_OLD):
        old = root.with_name(f"{root.name}-old-{n}")
        if not old.exists():
            with writing(root):
                os.rename(root, old)
            return old
    raise UsageError(f"there are {MAX_OLD} old directories beside {root}: remove some of them")
