"""A clock of the simulator's own: the data's sessions one after another, at the speed of the wall clock or faster.

Time is written to the broker's file only where it matters: at opens and closes, and before an order is taken (`catch_up`).
"""

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from services.simulator.broker import Broker
from services.simulator.orders import Advance, Session, Step
from services.simulator.schedule import session
from shared.protocol.calendar import Calendar
from shared.protocol.instants import parse, to_text

LONGEST_SLEEP_S: Final = 60.0
RESOLUTION: Final = timedelta(seconds=1)
_log: Final = logging.getLogger(__name__)


class Ticker:
    """Moves a broker's time from `start` (a session's index), or from where its books stand, at `speed` seconds a second."""

    def __init__(
        self, broker: Broker, calendar: Calendar, start: int, speed: float, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Time begins to run now."""
        self._broker, self._calendar, self._speed, self._monotonic = broker, calendar, speed, monotonic
        state = broker.state
        self._index = start if state.session is None else state.session.index
        self._session = session(broker.exchange.file, calendar, self._index)
        self._began = parse(state.clock or self._session.opens_at)
        self._zero = monotonic()

    @property
    def now(self) -> datetime:
        """The simulator's time, aware UTC."""
        return self._began + timedelta(seconds=(self._monotonic() - self._zero) * self._speed)

    def catch_up(self) -> None:
        """Bring the books to this time, through every open and close on the way; raises `NotStored`, `JournalError`."""
        now = self.now
        while (due := self._next()) is not None and parse(due.to) <= now:
            self._broker.submit(due)
            if due.step == "close":
                _log.info("the session %s has closed", due.session.day)
        clock = self._broker.state.clock
        current = self._broker.state.session
        if clock is not None and current is not None and now - parse(clock) >= RESOLUTION:
            self._broker.submit(Advance(to_text(now), "watch", current))

    async def run(self) -> None:
        """Move time at every open and close, without end; after the last session of the data the exchange stays closed."""
        while (due := self._next()) is not None:
            left_s = (parse(due.to) - self.now).total_seconds() / self._speed
            if left_s > 0:
                await asyncio.sleep(min(left_s, LONGEST_SLEEP_S))
            else:
                self.catch_up()
                await asyncio.sleep(0)
        _log.warning("the data have ended: the exchange stays closed")

    def _next(self) -> Advance | None:
        """The next open or close, None after the last."""
        state = self._broker.state
        if state.clock is None or state.session is None:
            return self._advance(self._session, "open")
        if state.clock < state.session.closes_at:
            return self._advance(state.session, "close")
        index = state.session.index + 1
        if index >= len(self._broker.exchange.file.sessions):
            return None
        return self._advance(session(self._broker.exchange.file, self._calendar, index), "open")

    @staticmethod
    def _advance(current: Session, step: Step) -> Advance:
        """The open or close of a session."""
        return Advance(current.opens_at if step == "open" else current.closes_at, step, current)
