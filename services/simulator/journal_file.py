"""The broker's own file: one command is one line, safe on disk before it counts.

A line is a JSON object that begins with its number and ends with a checksum of what stands before it. What a crash left
without a newline at the end is cut off, once all lines before it have been read; anything else that is not as it was written
is an error that names the line.
"""

import fcntl
import logging
import os
import re
import stat
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

NAME: Final = "journal.jsonl"
IN_USE_S: Final = 3.0
IN_USE_POLL_S: Final = 0.05
"""A simulator that is just ending lets go of the file within this time."""
_TAIL: Final = re.compile(rb',"crc":"([0-9a-f]{8})"}\Z')
_PERMISSIONS: Final = "check the folder and its permissions, or begin with a new folder"
_log: Final = logging.getLogger(__name__)


class JournalError(Exception):
    """A journal that cannot be used, with the line and what to do; the process must not go on with it."""


class JournalRefused(JournalError):
    """A journal that starting again does not mend: damaged, foreign, unreadable or in use."""


class JournalMismatch(JournalRefused):
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
        """Open or create the file in `folder` and lock it; raises `JournalRefused`."""
        path = folder / NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            _sync_folder(folder)
        except OSError as error:
            raise JournalRefused(f"{path} cannot be opened ({error.strerror}): {_PERMISSIONS}") from error
        try:
            _check_and_lock(path, descriptor)
        except JournalRefused:
            os.close(descriptor)
            raise
        return cls(path, descriptor)

    def read(self) -> Iterator[bytes]:
        """Give every stored payload in order, then cut off an incomplete last line; raises `JournalError`. Call it once."""
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise JournalRefused(f"{self.path} cannot be read ({error.strerror}): {_PERMISSIONS}") from error
        self._size = data.rfind(b"\n") + 1
        for line in data[: self._size].split(b"\n")[:-1]:
            self._count += 1
            yield self._payload(line)
        if tail := data[self._size :]:
            self._drop(tail)

    def _drop(self, tail: bytes) -> None:
        """Cut off what a crash left of a line that never counted; anything else at the end is damage."""
        head = b'{"n":%d,' % (self._count + 1)
        torn = tail.startswith(head) or head.startswith(tail) or not tail.strip(b"\0")
        if not torn or _TAIL.search(tail[:-1]):
            self._count += 1
            raise self.corrupt("it is not as it was written")
        _log.warning("%s: cut off an incomplete last line of %d bytes", self.path, len(tail))
        self._cut(self._size)

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

    def corrupt(self, reason: str) -> JournalRefused:
        """An error about the line that was read last."""
        return JournalRefused(
            f"{self.path}, line {self._count}: {reason}; restore the file from a copy or begin with a new folder"
        )

    def _cut(self, size: int) -> None:
        """Make the file end after `size` bytes, durably; raises `JournalError`."""
        try:
            os.ftruncate(self._descriptor, size)
            os.fsync(self._descriptor)
        except OSError as error:
            raise JournalError(f"{self.path} cannot be cut to {size} bytes ({error.strerror}): its end is uncertain") from error


def _check_and_lock(path: Path, descriptor: int) -> None:
    """Refuse what is no regular file, then lock it, waiting up to `IN_USE_S` for another process; raises `JournalRefused`."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise JournalRefused(f"{path} is no regular file: begin with a new folder")
    until = time.monotonic() + IN_USE_S
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if time.monotonic() >= until:
                raise JournalRefused(f"{path} is in use by another simulator: end it or take another folder") from error
            time.sleep(IN_USE_POLL_S)


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
