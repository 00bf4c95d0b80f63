"""What blocks a whole batch before any order of it is judged: halts, an unknown value, losses, a failed reconciliation."""

from decimal import Decimal
from typing import Final

import msgspec

from services.gate.books import BookView
from services.gate.numbers import HUNDRED, NOTHING, amount, percent
from services.gate.rules.reasons import reason
from services.gate.valuation import Valuation, drawdown_pct
from shared.ledger.parts import FULL, REDUCE_ONLY
from shared.ledger.trips import drawdown_reaches
from shared.protocol.events import Reason
from shared.protocol.policy import Policy
from shared.protocol.reasons import Rule

__all__ = ["FULL", "REDUCE_ONLY", "Block", "block_of", "named"]

MAX_NAMED: Final = 5
DENY: Final = "deny"
MAX_REASON_CHARS: Final = 200


class Block(msgspec.Struct, frozen=True):
    """A block in force: `full` blocks every proposed order, `reduce_only` every BUY."""

    kind: str
    reasons: tuple[Reason, ...]


def block_of(policy: Policy, book: BookView, valuation: Valuation) -> Block | None:
    """What blocks the book, with all reasons; None if nothing does. Call it inside exact arithmetic."""
    found = (*_halts(book), _valuation(valuation), _drawdown(policy, book, valuation), _daily_loss(policy, book, valuation))
    reasons = tuple(why for why in (*found, _reconciliation(book), _borrowed(policy, book)) if why is not None)
    if not reasons:
        return None
    full = any(halt.kind == FULL for halt in book.halts)
    return Block(FULL if full else REDUCE_ONLY, reasons)


def _halts(book: BookView) -> tuple[Reason, ...]:
    """Each halt in force; a kind that is not known counts as reduce-only."""
    return tuple(reason(Rule.HALT, f"{halt.kind} halt: {halt.reason[:MAX_REASON_CHARS]}") for halt in book.halts)


def _valuation(valuation: Valuation) -> Reason | None:
    """The value is unknown."""
    if valuation.value is not None:
        return None
    return reason(Rule.VALUATION, f"the book's value is unknown: no price or rate for {named(valuation.unpriced)}")


def _drawdown(policy: Policy, book: BookView, valuation: Valuation) -> Reason | None:
    """Drawdown at or over the limit."""
    limit, value = policy.limits.max_drawdown_pct, valuation.value
    if value is None or not drawdown_reaches(value, book.peak, limit):
        return _breached(book)
    found = drawdown_pct(value, book.peak)
    room = value - book.peak * (HUNDRED - limit) / HUNDRED
    return reason(Rule.DRAWDOWN, f"drawdown {found} % of the peak {book.peak}, at {limit} % buying ends", limit, found, room)


def _breached(book: BookView) -> Reason | None:
    """A valuation saw the limit reached: buying waits until one does not, whatever other prices show meanwhile."""
    if book.breach is None:
        return None
    return reason(
        Rule.DRAWDOWN, f"the valuation at {book.breach.at} saw the drawdown limit reached: buying waits for the next one"
    )


def _daily_loss(policy: Policy, book: BookView, valuation: Valuation) -> Reason | None:
    """The loss since the start of the exchange day is at or over the limit; without a start this value is the day's first."""
    limit, value, start = policy.limits.max_daily_loss_pct, valuation.value, book.day_start
    if limit is None or value is None or start is None:
        return None
    whole = start + book.day_flows
    lost = whole - value
    if not (lost > NOTHING and lost * HUNDRED >= limit * whole):
        return None
    found = percent(lost, whole)
    told = f"the book lost {amount(lost)} of {amount(whole)} since the start of the day, at {limit} % buying ends"
    return reason(Rule.DAILY_LOSS, told, limit, found, _loss_left(limit, whole, lost))


def _loss_left(limit: Decimal, whole: Decimal, lost: Decimal) -> Decimal:
    """The loss that was still allowed, in base currency; 0 or below where the limit is reached."""
    return limit * whole / HUNDRED - lost


def _reconciliation(book: BookView) -> Reason | None:
    """Ledger and broker disagree, or it is not known whether they agree."""
    return None if book.reconciled else reason(Rule.RECONCILIATION, "the last reconciliation with the broker failed")


def _borrowed(policy: Policy, book: BookView) -> Reason | None:
    """The account owes money that the policy does not let it borrow."""
    if policy.limits.foreign_currency != DENY or not book.borrowed:
        return None
    return reason(
        Rule.CURRENCY, f"the account's cash is below 0 in {named(book.borrowed)}, and the policy lets nothing be borrowed"
    )


def named(keys: tuple[str, ...]) -> str:
    """The first names of a list, and how many more there are."""
    more = len(keys) - MAX_NAMED
    return ", ".join(keys[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
