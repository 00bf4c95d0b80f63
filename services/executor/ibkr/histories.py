"""Daily bars that are asked for once: whole at first, then only the newest days, which keeps within the broker's pacing."""

from typing import Final

from services.executor.broker import Bar
from services.executor.ibkr import market
from services.executor.ibkr.connection import Link
from services.executor.ibkr.contracts import Qualified

MAX_KEPT: Final = 1_000
NEWEST: Final = 10
"""Days that are asked for where older ones are known."""


class Histories:
    """Complete bars of instruments, for the life of a connection."""

    def __init__(self, link: Link) -> None:
        """Nothing is known yet."""
        self._link = link
        self._bars: dict[str, tuple[Bar, ...]] = {}
        self._seen: dict[str, tuple[str | None, int]] = {}

    async def last(self, key: str, found: Qualified, count: int, unfinished: str | None, day: str | None) -> tuple[Bar, ...]:
        """The last `count` complete bars at a session `day`, whose own bar is left out while it is `unfinished`."""
        mark = f"{day} {unfinished}"
        kept = self._bars.get(key, ())
        asked, most = self._seen.get(key, (None, 0))
        if asked != mark or most < count:
            kept = await self._fetch(found, kept if most >= count else (), max(count, most), unfinished)
            if key in self._bars or len(self._bars) < MAX_KEPT:
                self._bars[key], self._seen[key] = kept, (mark, max(count, most))
        return kept[-count:] if count else ()

    async def _fetch(self, found: Qualified, kept: tuple[Bar, ...], count: int, unfinished: str | None) -> tuple[Bar, ...]:
        """The newest bars behind those that are kept, if they meet and agree; else all of them anew."""
        if kept:
            newest = await market.bars(self._link, found.contract, NEWEST, unfinished, f"{NEWEST} D")
            if newest and newest[0] in kept:
                return (*(bar for bar in kept if bar.date < newest[0].date), *newest)[-count:]
        return await market.bars(self._link, found.contract, count, unfinished)
