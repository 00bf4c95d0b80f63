"""Is this a well-formed limit order?"""

from services.gate.batch import Batch
from services.gate.candidate import Candidate
from services.gate.numbers import NOTHING, ONE
from services.gate.rules.reasons import reason
from shared.protocol.events import Reason
from shared.protocol.reasons import Rule


def finite(order: Candidate, batch: Batch) -> Reason | None:
    """Quantity and limit price, where given, are numbers that an order can have."""
    if order.quantity_fault is None and order.limit_fault is None:
        return None
    faults = (("quantity", order.quantity_fault), ("limit price", order.limit_fault))
    return reason(Rule.FINITE, "; ".join(f"{name} {fault}" for name, fault in faults if fault is not None))


def quantity(order: Candidate, batch: Batch) -> Reason | None:
    """More than no shares."""
    shares = order.quantity
    if shares is not None and shares > NOTHING:
        return None
    if shares is None and order.quantity_fault is not None:
        return None
    found = "is missing" if shares is None else f"is {shares}"
    return reason(Rule.QUANTITY, f"quantity {found}: it must be above 0", NOTHING, shares)


def whole_shares(order: Candidate, batch: Batch) -> Reason | None:
    """Whole shares, unless the policy allows fractions."""
    shares = order.quantity
    if shares is None or batch.limits.allow_fractional or shares % ONE == NOTHING:
        return None
    return reason(Rule.WHOLE_SHARES, f"quantity {shares} is not a whole number of shares", ONE, shares)


def limit_price(order: Candidate, batch: Batch) -> Reason | None:
    """A limit price above 0: there are no market orders."""
    limit = order.limit
    if limit is not None and limit > NOTHING:
        return None
    if limit is None and order.limit_fault is not None:
        return None
    found = "is missing" if limit is None else f"is {limit}"
    return reason(Rule.LIMIT_PRICE, f"limit price {found}: it must be above 0, there are no market orders", NOTHING, limit)
