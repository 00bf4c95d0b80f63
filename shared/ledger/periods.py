"""The periods in which orders are counted."""

from functools import lru_cache

from shared.protocol.calendar import calendar
from shared.protocol.instants import local_day, parse

_CACHED = 1024


@lru_cache(_CACHED)
def month_of(at: str, zone_name: str) -> str:
    """The calendar month of a time in the policy's zone, `YYYY-MM`."""
    return local_day(at, zone_name)[:7]


@lru_cache(_CACHED)
def exchange_day_of(at: str) -> str:
    """The day of a time at the exchange, `YYYY-MM-DD`."""
    return local_day(at, calendar().zone_name)


@lru_cache(_CACHED)
def exchange_time_of(at: str) -> str:
    """The time of day at the exchange, `HH:MM`, as run ids carry it."""
    return parse(at).astimezone(calendar().zone).strftime("%H:%M")
