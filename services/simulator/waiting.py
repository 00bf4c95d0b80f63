"""Who waits for which time."""

import asyncio


class Waiting:
    """Tasks that wait until the clock has reached a time, canonical text."""

    def __init__(self) -> None:
        """Nobody waits."""
        self._waiting: dict[asyncio.Future[None], str] = {}

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    async def until(self, to: str) -> None:
        """Return when `reached` was called with `to` or a later time."""
        future = asyncio.get_running_loop().create_future()
        self._waiting[future] = to
        try:
            await future
        finally:
            del self._waiting[future]

    def reached(self, clock: str) -> None:
        """Wake all whose time has come."""
        for future, to in self._waiting.items():
            if to <= clock and not future.done():
                future.set_result(None)
