"""The broker's own file: one command is one line, safe on disk before it counts.

A line is a JSON object that begins with its number and ends with a checksum of what stands before it. What a crash left
without a newline at the end is cut off; anything else that is not as it was written is an error that names the line.
"""

import fcntl
import logging
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

NAME: Final = "journal.jsonl"
_TAIL: Final = re.compile(rb',"crc":"([0-9a-f]{8})"}\Z')
_log: Final = logging.getLogger(__name__)


class JournalError(Exception):
    """A journal that cannot be used, with the line and what to do; the process must not go on with it."""


class JournalMismatch(JournalError):
    """A journal that was begun with other data or other terms."""


class NotStored(Exception):
    """One line could not be stored and leaves no trace; the next may succeed."""


class JournalFile:
    """An append-only file, held by one process at a time."""

    def __init__(self, path: Path, descriptor: int) -> None:
        """Use `open` to make one."""
        self.path, self._descriptor = path, descriptor
        self._size = 0
        self._count = 0

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open or create the file in `folder` and lock it; raises `JournalError`."""
        path = folder / NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            _sync_folder(folder)
        except OSError as error:
            raise JournalError(f"{path} cannot be opened ({error.strerror}): check the folder") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            raise JournalError(f"{path} is in use by another simulator: end it or give this one another folder") from error
        return cls(path, descriptor)

    def read(self) -> Iterator[bytes]:
        """Cut off an incomplete last line, then give every stored payload in order; raises `JournalError`. Call it once."""
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            _log.warning("%s: cut off an incomplete last line of %d bytes", self.path, len(data) - whole)
            self._cut(whole)
        self._size = whole
        for line in data[:whole].split(b"\n")[:-1]:
            self._count += 1
            yield self._payload(line)

    def append(self, payload: bytes) -> None:
        """Store one JSON object durably. Raises `NotStored` if it left no trace, `JournalError` if that is not certain."""
        head = b'{"n":%d,%b' % (self._count + 1, payload[1:-1])
        line = head + b',"crc":"%08x"}\n' % zlib.crc32(head)
        try:
            _write(self._descriptor, line)
            os.fsync(self._descriptor)
        except OSError as error:
            self._cut(self._size)
            raise NotStored(f"{self.path}: {error.strerror}: make room or mend the disk, then send it again") from error
        self._size += len(line)
        self._count += 1

    def close(self) -> None:
        """Release the file and its lock."""
        os.close(self._descriptor)

    def _payload(self, line: bytes) -> bytes:
        """What was appended as this line, whose number and checksum must fit."""
        head = b'{"n":%d,' % self._count
        tail = _TAIL.search(line)
        if tail is None or not line.startswith(head) or zlib.crc32(line[: tail.start()]) != int(tail[1], 16):
            raise self.corrupt("it is not as it was written")
        return b"{" + line[len(head) : tail.start()] + b"}"

    def corrupt(self, reason: str) -> JournalError:
        """An error about the line that was read last."""
        return JournalError(f"{self.path}, line {self._count}: {reason}; restore the file from a copy or begin with a new folder")

    def _cut(self, size: int) -> None:
        """Make the file end after `size` bytes, durably; raises `JournalError`."""
        try:
            os.ftruncate(self._descriptor, size)
            os.fsync(self._descriptor)
        except OSError as error:
            raise JournalError(f"{self.path} cannot be cut to {size} bytes ({error.strerror}): its end is uncertain") from error


def _write(descriptor: int, data: bytes) -> None:
    """Write all of `data`; the system may take it in parts."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _sync_folder(folder: Path) -> None:
    """Make a new name in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
