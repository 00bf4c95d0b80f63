"""Trading hours and price steps as contract details carry them. Pure."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from shared.protocol.instants import to_text, zone
from shared.protocol.market import ExchangeSession
from shared.protocol.money import Exact

MAX_HOURS_CHARS: Final = 20_000
_SPAN: Final = re.compile(r"([0-9]{8}):([0-9]{4})-([0-9]{8}):([0-9]{4})", re.ASCII)
_CLOSED: Final = re.compile(r"[0-9]{8}:CLOSED", re.ASCII)


class HoursError(ValueError):
    """Hours that cannot be read; nothing is known of the exchange then."""


def sessions(text: str, zone_name: str) -> tuple[tuple[str, datetime, datetime], ...]:
    """Day, opening and closing (UTC) of every span of `liquidHours`; raises `HoursError`, `TimeError` for an unknown zone."""
    where, found = zone(zone_name), []
    if len(text) > MAX_HOURS_CHARS:
        raise HoursError(f"the hours have over {MAX_HOURS_CHARS} characters")
    for part in filter(None, text.split(";")):
        if _CLOSED.fullmatch(part):
            continue
        span = _SPAN.fullmatch(part)
        if span is None:
            raise HoursError(f"{part[:60]!r} are no hours")
        opens, closes = (datetime.strptime(span[at] + span[at + 1], "%Y%m%d%H%M").replace(tzinfo=where) for at in (1, 3))
        found.append((closes.date().isoformat(), opens.astimezone(UTC), closes.astimezone(UTC)))
    return tuple(sorted(found, key=lambda session: session[1]))


def current(found: Sequence[tuple[str, datetime, datetime]], now: datetime) -> ExchangeSession | None:
    """The session that has opened last, else the next one; None where no hours are known."""
    begun = [session for session in found if session[1] <= now]
    chosen = begun[-1:] or list(found[:1])
    if not chosen:
        return None
    day, opens, closes = chosen[0]
    return ExchangeSession(opens <= now < closes, day, to_text(opens), to_text(closes))


def tick_at(rule: Sequence[tuple[Decimal, Decimal]], price: Decimal) -> Exact | None:
    """The price step at a price: that of the highest edge not above it; None without one."""
    steps = [increment for edge, increment in sorted(rule) if edge <= price]
    return Exact(steps[-1]) if steps and steps[-1] > 0 else None


def rule_of(exchange: str, valid_exchanges: str, rule_ids: str) -> int | None:
    """The market rule of an exchange: the lists are parallel; None where they are not or it is missing."""
    names, ids = valid_exchanges.split(","), rule_ids.split(",")
    if len(names) != len(ids) or exchange not in names:
        return None
    found = ids[names.index(exchange)]
    return int(found) if found.isascii() and found.isdigit() else None
