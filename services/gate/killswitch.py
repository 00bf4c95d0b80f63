"""The kill switch: which valuations agree that the drawdown limit is reached, and the halts that follow. Pure.

A single bad tick never liquidates: the first breach only stops buying, and it takes `drawdown_confirmations` valuations in a row
from separate quotes to trip.
"""

from datetime import timedelta
from decimal import Decimal
from typing import Final

from services.gate.blocks import named
from services.gate.numbers import amount
from services.gate.valuation import drawdown_pct
from shared.ledger.parts import EVALUATOR_FAILED, FULL, KILL_SWITCH, REDUCE_ONLY
from shared.ledger.state import Book
from shared.ledger.trips import drawdown_reaches
from shared.protocol.events import Breach, HaltTripped
from shared.protocol.instants import parse
from shared.protocol.policy import Policy

SEPARATE: Final = timedelta(seconds=30)
"""Valuations nearer than this are one observation to the kill switch, unless the later one is the next run's."""
MAX_COUNT: Final = 10
"""The most confirmations that a policy can ask for; more are not counted."""
NO_HOLDINGS: Final = "-"


def next_breach(before: Breach | None, seen: Breach, value: Decimal | None, peak: Decimal, limit_pct: Decimal) -> Breach | None:
    """The breach after a valuation, `seen` being it as the first one. Call it inside exact arithmetic.

    An unknown value neither confirms nor ends one; a value above the limit ends it, so that counting starts anew.
    """
    if value is None:
        return before
    if not drawdown_reaches(value, peak, limit_pct):
        return None
    if before is None:
        return seen
    if before.count >= MAX_COUNT or not _is_separate(before, seen):
        return before
    return Breach(before.count + 1, seen.at, seen.quotes, seen.run, (*before.evidence, *seen.evidence))


def _is_separate(before: Breach, seen: Breach) -> bool:
    """Whether a valuation is another observation than the newest that counted: other quotes, and 30 s later or the next run.

    It rests on other quotes if a name has one of another time, so that selling one of the names makes no old quote a new one.
    Cash alone is always seen afresh.
    """
    known = before.quotes.split()
    if seen.quotes != NO_HOLDINGS and all(mark in known for mark in seen.quotes.split()):
        return False
    is_next_run = seen.run is not None and seen.run != before.run
    return is_next_run or parse(seen.at) - parse(before.at) >= SEPARATE


def tripped(policy: Policy, book: Book) -> HaltTripped:
    """The kill switch trips: a full halt that liquidates. Raises `LookupError` if the newest valuation shows no breach."""
    breach, limit, value = book.breach, policy.limits.max_drawdown_pct, book.value
    if breach is None or value is None:
        raise LookupError(f"the kill switch of {book.name} cannot trip: its newest valuation shows no breach")
    found = drawdown_pct(value, book.peak)
    agreed = f"{breach.count} valuation" + ("" if breach.count == 1 else "s")
    told = f"drawdown {found} % of the peak {amount(book.peak)}, limit {limit} %, seen by {agreed}"
    return HaltTripped(
        scope=book.name,
        kind=FULL,
        liquidate=True,
        cause=KILL_SWITCH,
        message=told,
        value=value,
        peak=book.peak,
        drawdown_pct=found,
        limit_pct=limit,
        evidence=breach.evidence,
    )


def blinded(book: Book, unpriced: tuple[str, ...], evidence: tuple[str, ...]) -> HaltTripped:
    """The evaluator cannot evaluate a book: no new risk until its value is known again."""
    told = f"no price or rate for {named(unpriced) or 'a holding'}: buying ends until the value is known again"
    return HaltTripped(
        scope=book.name,
        kind=REDUCE_ONLY,
        liquidate=False,
        cause=EVALUATOR_FAILED,
        message=f"evaluator failed: {told}",
        value=None,
        peak=book.peak,
        drawdown_pct=None,
        limit_pct=None,
        evidence=evidence,
    )
