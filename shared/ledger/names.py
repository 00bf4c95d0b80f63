"""Which instruments a judgement needs prices of."""

from collections.abc import Iterable

from shared.ledger.state import State
from shared.protocol.market import Side


def judged_names(state: State, book: str, proposed: Iterable[str]) -> tuple[str, ...]:
    """Instrument keys to price for judging orders in `proposed` names on a book, sorted.

    Those and what the book holds; where the policy limits exposure also what its BUYs at work may bring, and where it limits the
    sum of all books the same of every other book.
    """
    policy = state.policy.policy if state.policy else None
    summed = policy is not None and (policy.account.max_gross_pct is not None or policy.account.max_position_pct is not None)
    exposed = summed or (policy is not None and policy.limits.max_gross_pct is not None)
    wanted = {*proposed, *state.books[book].holdings}
    for other in state.books.values():
        if other.name == book or summed:
            wanted |= set(other.holdings)
            wanted |= {order.key for order in other.orders.values() if exposed and order.side is Side.BUY}
    return tuple(sorted(wanted))
