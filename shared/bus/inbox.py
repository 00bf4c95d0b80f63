"""What a reader delivered and nobody has folded yet, and those who wait for it."""

import asyncio
from collections import deque
from collections.abc import Iterator
from typing import Final

from shared.bus.ports import Reading, Stored

MAX_HELD: Final = 5000


class Inbox:
    """Batches between the task that reads and the one that folds; filling stops while more than `MAX_HELD` are held."""

    def __init__(self) -> None:
        """Begin empty."""
        self._batches: deque[list[Stored]] = deque()
        self._held = 0
        self._room = asyncio.Event()
        self._waiters: list[asyncio.Future[bool]] = []
        self._problem: Exception | None = None

    async def fill(self, reading: Reading) -> None:
        """Put in what `reading` gives until it ends; its failure is raised by `take` after everything before it."""
        try:
            async for batch in reading:
                self._batches.append(batch)
                self._held += len(batch)
                self.notify()
                if self._held > MAX_HELD:
                    self._room.clear()
                    await self._room.wait()
        except Exception as error:
            self._problem = error
            self.notify()

    def take(self) -> Iterator[list[Stored]]:
        """The batches held, oldest first; then raises what ended the reading, if anything did."""
        while self._batches:
            batch = self._batches.popleft()
            self._held -= len(batch)
            yield batch
        self._room.set()
        if self._problem is not None:
            raise self._problem

    async def wait(self, timeout_s: float | None) -> bool:
        """Wait for something to `take` or for `notify`; False after `timeout_s`."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        timer = None if timeout_s is None else loop.call_later(timeout_s, _settle, waiter, False)
        self._waiters.append(waiter)
        try:
            return await waiter
        finally:
            if timer is not None:
                timer.cancel()
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def notify(self) -> None:
        """Let everyone who waits look again."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            _settle(waiter, True)


def _settle(waiter: asyncio.Future[bool], result: bool) -> None:
    if not waiter.done():
        waiter.set_result(result)
