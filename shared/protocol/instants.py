"""Times: aware UTC inside, canonical text with six digits of a second in events."""

import re
from datetime import UTC, date, datetime
from typing import Annotated, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

_PATTERN: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$"
_SHAPE: Final = re.compile(_PATTERN, re.ASCII)

Instant = Annotated[str, msgspec.Meta(pattern=_PATTERN, max_length=27)]
"""Canonical time text `YYYY-MM-DDTHH:MM:SS.ffffffZ`, always UTC, always six digits."""

Day = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", max_length=10)]
"""An exchange session or a calendar day, `YYYY-MM-DD`."""


class TimeError(ValueError):
    """A text that is no canonical time, or a time without a zone."""


def to_text(moment: datetime) -> str:
    """Return the canonical text of an aware `moment`; raises `TimeError` if it has no zone."""
    if moment.tzinfo is None:
        raise TimeError(f"{moment.isoformat()} has no zone: times are aware UTC")
    utc = moment.astimezone(UTC)
    return f"{utc.year:04d}-{utc:%m-%dT%H:%M:%S}.{utc.microsecond:06d}Z"


def parse(text: str) -> datetime:
    """Read canonical time text; raises `TimeError` for any other spelling or a date that does not exist."""
    if not _SHAPE.fullmatch(text):
        raise TimeError(f"{text[:40]!r} is no canonical time (YYYY-MM-DDTHH:MM:SS.ffffffZ)")
    try:
        return datetime.fromisoformat(text[:-1]).replace(tzinfo=UTC)
    except ValueError as error:
        raise TimeError(f"{text!r} is no time that exists") from error


def compact(text: str) -> str:
    """The form of a canonical time inside ids: `20221003T143000Z`."""
    return f"{text[0:4]}{text[5:7]}{text[8:13]}{text[14:16]}{text[17:19]}Z"


def parse_day(text: str) -> date:
    """Read `YYYY-MM-DD`; raises `TimeError` for anything else."""
    if len(text) != 10 or not text.isascii() or text[4] != "-" or text[7] != "-":
        raise TimeError(f"{text[:40]!r} is no date (YYYY-MM-DD)")
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise TimeError(f"{text!r} is no date that exists") from error


def zone(name: str) -> ZoneInfo:
    """The time zone `name`; raises `TimeError` that names the package to install when zone data is missing."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise TimeError(f"time zone {name[:64]!r} is not known here: check the name, or install the package tzdata") from error


def local_day(text: str, zone_name: str) -> str:
    """The calendar day of a canonical time in a zone, `YYYY-MM-DD`."""
    return parse(text).astimezone(zone(zone_name)).date().isoformat()
