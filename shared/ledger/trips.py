"""Which halt the gate is to trip on a book, as its newest valuation stands. Pure."""

from decimal import Decimal
from typing import Final

from shared.ledger.parts import EVALUATOR_FAILED, KILL_SWITCH
from shared.ledger.state import Book
from shared.protocol.money import wide_context
from shared.protocol.policy import Policy

HUNDRED: Final = Decimal(100)


def trip_of(policy: Policy, book: Book) -> str | None:
    """The cause for which a halt is to be tripped now: kill_switch or evaluator_failed; None if there is none, or it stands."""
    if book.closed:
        return None
    if book.unknown:
        return None if book.blind else EVALUATOR_FAILED
    if book.breach is None or book.breach.count < policy.limits.drawdown_confirmations or is_killed(book):
        return None
    # the policy, or what the book has, may have changed since the newest valuation
    with wide_context():
        stands = book.value is not None and drawdown_reaches(book.value, book.peak, policy.limits.max_drawdown_pct)
    return KILL_SWITCH if stands else None


def drawdown_reaches(value: Decimal, peak: Decimal, limit_pct: Decimal) -> bool:
    """Whether the drawdown is at or over the limit, compared exactly. Call it inside exact arithmetic."""
    return value < peak and (peak - value) * HUNDRED >= limit_pct * peak


def is_killed(book: Book) -> bool:
    """Whether the kill switch has tripped and was not reset."""
    return book.halt is not None and book.halt.cause == KILL_SWITCH
