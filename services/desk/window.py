"""Which sessions of a price file a run trades. Pure."""

from collections.abc import Sequence
from datetime import date
from typing import Final

from services.desk.errors import UsageError
from shared.protocol.instants import TimeError, parse_day

DEFAULT_DAYS: Final = 60
MAX_SESSIONS: Final = 20_000
"""The first event of the log names every session; with more it would be too large."""


def window(sessions: Sequence[date], days: int | None, start: str | None, end: str | None) -> range:
    """Indexes of the sessions to trade.

    `start` and `end` (`YYYY-MM-DD`, both included) need not be sessions. `days` counts from `start` on, or without it back from
    `end` or the file's last session (60 by default). Raises `UsageError` for a reversed, empty or over-determined range.
    """
    first, last = _day("--from", start), _day("--to", end)
    if first and last and days is not None:
        raise UsageError("give two of --days, --from and --to, not all three")
    if first and last and first > last:
        raise UsageError(f"--from {first} is after --to {last}: exchange them")
    inside = [at for at, day in enumerate(sessions) if (not first or day >= first) and (not last or day <= last)]
    if not inside:
        raise UsageError(f"there is no session {_between(first, last)}: the data has {sessions[0]} to {sessions[-1]}")
    return _checked(_counted(range(inside[0], inside[-1] + 1), days, from_start=first is not None))


def beyond(sessions: Sequence[date], start: str | None, end: str | None) -> tuple[str, ...]:
    """A sentence for each of `start` and `end` that lies outside the data, which is traded as far as it goes."""
    first, last = _day("--from", start), _day("--to", end)
    has = f"the data, which has the sessions {sessions[0]} to {sessions[-1]}"
    before = (f"--from {first} is before {has}",) if first and first < sessions[0] else ()
    after = (f"--to {last} is after {has}",) if last and last > sessions[-1] else ()
    return (*before, *after)


def _counted(inside: range, days: int | None, *, from_start: bool) -> range:
    """The wanted number of sessions out of those in reach."""
    if days is None:
        return inside if from_start else inside[-DEFAULT_DAYS:]
    if days < 1:
        raise UsageError(f"--days {days}: at least one session is needed")
    if days > len(inside):
        raise UsageError(f"--days {days}: the data has only {len(inside)} sessions there")
    return inside[:days] if from_start else inside[-days:]


def _checked(found: range) -> range:
    """Refuse more sessions than one event can name."""
    if len(found) > MAX_SESSIONS:
        raise UsageError(f"{len(found)} sessions are too many for one run: at most {MAX_SESSIONS}")
    return found


def _day(option: str, text: str | None) -> date | None:
    """A day from the command line; raises `UsageError`."""
    try:
        return None if text is None else parse_day(text)
    except TimeError as error:
        raise UsageError(f"{option}: {error}") from error


def _between(first: date | None, last: date | None) -> str:
    """The range in words."""
    parts = [f"from {first}" if first else "", f"to {last}" if last else ""]
    return " ".join(part for part in parts if part) or "at all"
