"""The free space of the data directory: a full disk is named, waited out, and given up on only after a bound."""

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Never

from services.desk.console import say
from services.desk.errors import RunFailed
from services.desk.settings import Bounds

FreeBytes = Callable[[Path], int | None]
"""How much can still be written in a directory, in bytes; None if that cannot be found out."""

KB: Final = 1024


def free_bytes(root: Path) -> int | None:
    """What the file system says that we may still use; nothing where it has no room for another file."""
    try:
        found = os.statvfs(root)
    except OSError:
        return None
    if found.f_files and not found.f_ffree:
        return 0
    return found.f_frsize * (found.f_bfree if os.geteuid() == 0 else found.f_bavail)


class Disk:
    """Sees whether a lack of space is what stops a run. It says so at most every `disk_say_s`."""

    def __init__(self, root: Path, bounds: Bounds, free: FreeBytes = free_bytes) -> None:
        """Everything moves as of now."""
        self._root, self._bounds, self._free = root, bounds, free
        self._moved_at = time.monotonic()
        self._said_at: float | None = None
        self._seen_at: float | None = None
        self._stopped_us = False

    def moved(self) -> None:
        """The run goes on: whatever the disk is, it stops nothing."""
        self._moved_at = time.monotonic()

    def stops(self) -> bool:
        """Asked when something failed: whether a full disk is the likely cause. Says so if it is."""
        free = self._free_if_full()
        if free is None:
            return False
        self._stopped_us = True
        self._seen_at = now = time.monotonic()
        if self._said_at is None or now - self._said_at >= self._bounds.disk_say_s:
            self._said_at = now
            say(f"propdesk: {self._words(free)}: free some space, the run goes on by itself")
        return True

    def explains(self) -> bool:
        """Asked when a request failed that was repeated for long: whether the disk is full, or was a while ago."""
        return self.stops() or (self._seen_at is not None and time.monotonic() - self._seen_at < self._bounds.disk_after_s)

    def failure(self) -> RunFailed | None:
        """What to raise when nothing moves for too long; None if the disk is not the reason."""
        free = self._free_if_full()
        return None if free is None else RunFailed(f"{self._words(free)}, and nothing happened for {self._bounds.stuck_s:.0f} s")

    async def watch(self, freed: Callable[[], None]) -> Never:
        """Look from time to time; `freed` is called when a disk that stopped the run has space again.

        Raises `RunFailed` when a full disk has stopped the run for `stuck_s`.
        """
        while True:
            await asyncio.sleep(self._bounds.disk_poll_s)
            still_s = time.monotonic() - self._moved_at
            if self._free_if_full() is None:
                if self._stopped_us:
                    self._stopped_us, self._said_at = False, None
                    say(f"propdesk: there is space in {self._root} again: the run goes on")
                    freed()
            elif still_s >= self._bounds.disk_still_s:
                self.stops()
            if still_s >= self._bounds.stuck_s and (failure := self.failure()) is not None:
                raise failure

    async def until_free(self) -> None:
        """Wait while it is full; `watch` ends the run when that takes too long."""
        while self._free_if_full() is not None:  # noqa: ASYNC110 - a file system tells nobody that it has space again
            await asyncio.sleep(self._bounds.disk_poll_s)

    def _free_if_full(self) -> int | None:
        """The bytes that are left if they are too few to go on, None while there are enough or nobody knows."""
        free = self._free(self._root)
        return free if free is not None and free < self._bounds.disk_full_bytes else None

    def _words(self, free: int) -> str:
        return f"the disk of {self._root} is full ({free // KB} KB free)"
