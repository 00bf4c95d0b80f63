"""Exchange sessions from a static table that ships with the package.

The table (`xnys.json`) is generated once from a calendar library and compared with it in a contract test; services never
import that library.
"""

import json
from datetime import UTC, date, datetime, time
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from shared.protocol.instants import zone

_TABLES: Final = {"XNYS": "xnys.json"}
_OPEN: Final = time(9, 30)
_CLOSE: Final = time(16, 0)
SATURDAY: Final = 5


class CalendarError(LookupError):
    """A calendar or a date that the table does not cover."""


class Hours(NamedTuple):
    """Opening and closing of one session, aware UTC."""

    opens_at: datetime
    closes_at: datetime


class Calendar:
    """Sessions of one exchange between `first` and `last`."""

    def __init__(
        self, name: str, zone_name: str, first: date, last: date, holidays: frozenset[date], early: dict[date, time]
    ) -> None:
        """Keep the table; `zone_name` is the exchange's own time zone."""
        self.name, self.zone_name, self.first, self.last = name, zone_name, first, last
        self._holidays, self._early = holidays, early

    @property
    def zone(self) -> ZoneInfo:
        """The exchange's time zone."""
        return zone(self.zone_name)

    def covers(self, day: date) -> bool:
        """Whether the table says anything about `day`."""
        return self.first <= day <= self.last

    def is_session(self, day: date) -> bool:
        """Whether the exchange is open on `day`; raises `CalendarError` outside the table."""
        if not self.covers(day):
            raise CalendarError(f"{self.name}: no calendar for {day}: the table covers {self.first} to {self.last}")
        return day.weekday() < SATURDAY and day not in self._holidays

    def hours(self, day: date) -> Hours:
        """Opening and closing of the session on `day`, on weekdays the table does not cover the regular hours."""
        return Hours(self.at(day, _OPEN), self.at(day, self._early.get(day, _CLOSE)))

    def at(self, day: date, local: time) -> datetime:
        """The UTC time of `local` exchange time on `day`."""
        return datetime.combine(day, local, self.zone).astimezone(UTC)


@cache
def calendar(name: str = "XNYS") -> Calendar:
    """The calendar of an exchange; raises `CalendarError` for one that has no table."""
    if name not in _TABLES:
        raise CalendarError(f"no calendar {name!r}; known: {', '.join(sorted(_TABLES))}")
    table = json.loads((Path(__file__).parent / _TABLES[name]).read_text("utf-8"))
    early = {date.fromisoformat(day): time.fromisoformat(close) for day, close in table["early_closes"].items()}
    holidays = frozenset(date.fromisoformat(day) for day in table["holidays"])
    first, last = date.fromisoformat(table["first"]), date.fromisoformat(table["last"])
    return Calendar(name, table["zone"], first, last, holidays, early)
