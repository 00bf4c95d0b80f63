"""Taking without waiting, waiting without taking: what the readers of both buses share."""

import asyncio
from abc import ABC, abstractmethod
from typing import Self

from shared.bus.ports import Stored


class Waiters:
    """Those who wait for a change; any number at once."""

    def __init__(self) -> None:
        """Nobody waits."""
        self._waiting: list[asyncio.Future[bool]] = []

    async def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for `notify`; False after `timeout_s`."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        timer = None if timeout_s is None else loop.call_later(timeout_s, _settle, waiter, False)
        self._waiting.append(waiter)
        try:
            return await waiter
        finally:
            if timer is not None:
                timer.cancel()
            if waiter in self._waiting:
                self._waiting.remove(waiter)

    def notify(self) -> None:
        """Let everyone who waits go on."""
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for waiter in waiting:
                _settle(waiter, True)


def _settle(waiter: asyncio.Future[bool], result: bool) -> None:
    if not waiter.done():
        waiter.set_result(result)


class BatchReading(ABC):
    """Gives batches to an `async for`, from a `take` and a `wait`."""

    def __init__(self) -> None:
        """Open."""
        self.closed = False

    @abstractmethod
    def take(self) -> list[Stored]:
        """See `Reading.take`."""

    @abstractmethod
    async def wait(self, timeout_s: float | None = None) -> bool:
        """See `Reading.wait`."""

    def __aiter__(self) -> Self:
        """Itself."""
        return self

    async def __anext__(self) -> list[Stored]:
        """Take, waiting for at least one message; ends when closed."""
        while not self.closed:
            batch = self.take()
            if batch:
                return batch
            await self.wait()
        raise StopAsyncIteration
