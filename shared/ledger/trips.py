"""Which halt the gate is to trip on a book, as its newest valuation stands. Pure."""

from shared.ledger.parts import EVALUATOR_FAILED, KILL_SWITCH
from shared.ledger.state import Book
from shared.protocol.policy import Policy


def trip_of(policy: Policy, book: Book) -> str | None:
    """The cause for which a halt is to be tripped now: kill_switch or evaluator_failed; None if there is none, or it stands."""
    if book.closed:
        return None
    if book.unknown:
        return None if book.blind else EVALUATOR_FAILED
    agree = book.breach is not None and book.breach.count >= policy.limits.drawdown_confirmations
    return KILL_SWITCH if agree and not is_killed(book) else None


def is_killed(book: Book) -> bool:
    """Whether the kill switch has tripped and was not reset."""
    return book.halt is not None and book.halt.cause == KILL_SWITCH
