"""One connection per client id: others that come under the same id wait their turn."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

MAX_HELD: Final = 8


class LaneBusy(Exception):
    """Too many connections wait for this client id already."""


class _Lane:
    """The connection that is served and how many wait behind it."""

    def __init__(self) -> None:
        """An empty lane."""
        self.lock = asyncio.Lock()
        self.held = 0
        self.serving: asyncio.Task[object] | None = None


class Lanes:
    """All client ids that are connected."""

    def __init__(self) -> None:
        """Nobody is connected."""
        self._lanes: dict[str, _Lane] = {}

    @asynccontextmanager
    async def turn(self, client: str) -> AsyncIterator[None]:
        """Wait until everyone before is done, in order of arrival; raises `LaneBusy` instead of waiting in a long row."""
        lane = self._lanes.setdefault(client, _Lane())
        if lane.held > MAX_HELD:
            raise LaneBusy
        lane.held += 1
        try:
            async with lane.lock:
                lane.serving = asyncio.current_task()
                try:
                    yield
                finally:
                    lane.serving = None
        finally:
            lane.held -= 1
            if not lane.held:
                del self._lanes[client]

    async def drop(self, client: str) -> bool:
        """End the task that serves `client` and wait for its end; False if nobody is served. What it had not read is not done."""
        lane = self._lanes.get(client)
        if lane is None or lane.serving is None:
            return False
        lane.serving.cancel()
        await asyncio.wait([lane.serving])
        return True
