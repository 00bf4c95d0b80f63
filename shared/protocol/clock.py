"""The clock port: where `now` comes from.

Against a real broker `now` is UTC. In simulated runs it is the newest `ClockAdvanced` that was folded, so that time is a
fact in the log and no timer takes part.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

from shared.protocol.instants import to_text


class Clock(Protocol):
    """Gives the present time as canonical text."""

    def now(self) -> str:
        """The present time; raises `LookupError` while it is unknown."""
        ...


class UtcClock:
    """The wall clock in UTC."""

    def now(self) -> str:
        """The present UTC time."""
        return to_text(datetime.now(UTC))


class DeskClock:
    """Desk time: what the newest folded `ClockAdvanced` says."""

    def __init__(self, folded: Callable[[], str | None]) -> None:
        """Read the time from `folded`, which returns canonical text or None."""
        self._folded = folded

    def now(self) -> str:
        """The desk time; raises `LookupError` before the first `ClockAdvanced`."""
        time = self._folded()
        if time is None:
            raise LookupError("desk time is not known before the first ClockAdvanced")
        return time
