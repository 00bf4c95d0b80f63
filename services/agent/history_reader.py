"""Asking the executor for past closes, beside the loop that folds the log."""

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from services.agent.history import SUBJECT, Closes, HistoryAsk, HistoryError, read_answer
from shared.bus.ports import NoResponder, Rpc, Unavailable

KEPT_ANSWERS: Final = 4
TRIES_A_WARNING: Final = 40

_log = structlog.get_logger("agent")


class HistoryReader:
    """Fetches one history at a time in the background and keeps the last `KEPT_ANSWERS`.

    It asks without end while the executor is away: in simulated runs no time-out becomes an event.
    """

    def __init__(self, rpc: Rpc, wake: Callable[[], None], *, timeout_s: float, pause_s: float) -> None:
        """`wake` is called when an answer has come; `timeout_s` bounds one request, `pause_s` lies between two tries."""
        self._rpc, self._wake = rpc, wake
        self._timeout_s, self._pause_s = timeout_s, pause_s
        self._kept: dict[HistoryAsk, Closes] = {}
        self._asked: HistoryAsk | None = None
        self._task: asyncio.Task[None] | None = None

    def known(self, ask: HistoryAsk) -> Closes | None:
        """The closes asked for; None while they are on their way. Raises what ended an attempt for good."""
        if ask in self._kept:
            return self._kept[ask]
        if self._task is not None and self._task.done():
            self._task.result()
        if self._task is None or self._asked != ask:
            self._begin(ask)
        return None

    async def close(self) -> None:
        """Ask no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def _begin(self, ask: HistoryAsk) -> None:
        """Fetch `ask` instead of whatever was under way."""
        if self._task is not None:
            self._task.cancel()
        self._asked = ask
        self._task = asyncio.get_running_loop().create_task(self._fetch(ask))
        self._task.add_done_callback(lambda _: self._wake())

    async def _fetch(self, ask: HistoryAsk) -> None:
        """Ask until every part of the answer has come, then keep it in the oldest one's place."""
        closes: Closes = {}
        for currency, request in ask.requests():
            closes |= await self._answered(ask, currency, request)
        if len(self._kept) >= KEPT_ANSWERS:
            del self._kept[next(iter(self._kept))]
        self._kept[ask] = closes
        self._task = None

    async def _answered(self, ask: HistoryAsk, currency: str, request: bytes) -> Closes:
        """One part of the answer, asked for until it comes."""
        tries = 0
        while True:
            try:
                return read_answer(ask, currency, await self._rpc.request(SUBJECT, request, self._timeout_s))
            except (NoResponder, Unavailable, HistoryError) as error:
                if tries % TRIES_A_WARNING == 0:
                    _log.warning("no history yet, asking again", session=ask.session, tries=tries + 1, why=str(error))
            tries += 1
            await asyncio.sleep(self._pause_s)
