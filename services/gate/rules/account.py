"""Does the order go together with the orders at work on the account?

Limits over the sum of all books (`[policy.account]`) are judged by the rules of the same names in `limits`.
"""

from services.gate.batch import Batch, OpenOrder
from services.gate.candidate import Candidate
from services.gate.numbers import amount
from services.gate.rules.reasons import reason
from shared.protocol.events import Reason
from shared.protocol.reasons import Rule


def duplicate(order: Candidate, batch: Batch) -> Reason | None:
    """No order of this book at work has the same instrument, side, quantity and limit."""
    for other in batch.own_orders(order.key):
        if other.quantity == order.quantity and other.limit == order.limit and other.buys == order.buys:
            return reason(Rule.DUPLICATE, f"the same order is at work already: {other.id}")
    return None


def self_trade(order: Candidate, batch: Batch) -> Reason | None:
    """A BUY does not meet a SELL of any book on the account; equal prices cross."""
    limit = order.limit
    if not order.buys or limit is None:
        return None
    for other in batch.account_orders(order.key):
        if not other.buys and other.limit <= limit:
            told = f"it would trade with our own SELL {other.id} of book {other.book} at {amount(other.limit)}"
            return reason(Rule.SELF_TRADE, told, other.limit, limit)
    return None


def crossed_buy(order: Candidate, batch: Batch) -> OpenOrder | None:
    """The working BUY, of any book, that an exit would trade with: the best-priced one, by id among equals.

    An exit beats an entry: the SELL is approved and the BUY is cancelled before it is sent.
    """
    limit = order.limit
    if order.buys or limit is None:
        return None
    buys = (other for other in batch.account_orders(order.key) if other.buys and other.limit >= limit)
    return min(buys, key=lambda other: (-other.limit, other.id), default=None)
