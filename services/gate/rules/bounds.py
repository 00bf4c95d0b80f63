"""The largest quantity that each rule monotone in quantity lets pass, solved from the rule itself.

A bound is a number of shares, None where the rule does not apply to the order, is off, or needs something unknown. A BUY's
commission is min(A·q, max(m, B·q)), so `slope·q + weight·commission(q) ≤ room` holds exactly when it holds with A·q, or with both
m and B·q: three linear conditions.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Final

from services.gate.batch import Batch
from services.gate.candidate import MAX_INTEGER_DIGITS, Candidate
from services.gate.numbers import HUNDRED, NOTHING, ONE, most
from shared.protocol.reasons import Rule

Bound = Callable[[Candidate, Batch], Decimal | None]

LARGEST_ORDER: Final = Decimal(10) ** MAX_INTEGER_DIGITS - 1
"""More shares than this are no quantity of an order."""

_ONE_PERCENT: Final = ONE / HUNDRED


def holding(order: Candidate, batch: Batch) -> Decimal | None:
    """A SELL: what is held and not reserved for other sells."""
    return None if order.side is None or order.buys else most(batch.sellable(order.key), ONE, batch.limits.allow_fractional)


def cash(order: Candidate, batch: Batch) -> Decimal | None:
    """A BUY: q·limit·FX + commission(q) ≤ free cash."""
    if not order.buys or batch.free is None:
        return None
    return _solved(order, batch, batch.free, slope=order.limit, weight=ONE)


def cash_reserve(order: Candidate, batch: Batch) -> Decimal | None:
    """A BUY: q·limit·FX + commission(q) ≤ free cash − reserve."""
    reserve, free, value = batch.limits.min_cash_pct, batch.free, batch.value
    if not order.buys or reserve is None or free is None or value is None:
        return None
    return _solved(order, batch, free - reserve * value * _ONE_PERCENT, slope=order.limit, weight=ONE)


def position(order: Candidate, batch: Batch) -> Decimal | None:
    """A BUY: (held + reserved + q)·ref·FX + p·commission(q) ≤ p·value, p being the limit as a fraction."""
    value, price, rate = batch.value, order.price, order.fx
    if not order.buys or value is None or price is None or rate is None:
        return None
    share = batch.limits.max_position_pct * _ONE_PERCENT
    room = share * value - batch.position(order.key) * price * rate
    return _solved(order, batch, room, slope=price, weight=share)


def order_notional(order: Candidate, batch: Batch) -> Decimal | None:
    """q × the larger of limit and reference × FX ≤ limit."""
    largest = batch.limits.max_order_notional
    if largest is None or order.limit is None or order.price is None or order.fx is None:
        return None
    return most(largest, max(order.limit, order.price) * order.fx, batch.limits.allow_fractional)


def gross_exposure(order: Candidate, batch: Batch) -> Decimal | None:
    """A BUY: exposure + q × the larger of limit and reference × FX ≤ p·value."""
    pct, value, limit, price, rate = batch.limits.max_gross_pct, batch.value, order.limit, order.price, order.fx
    if not order.buys or pct is None or value is None or limit is None or price is None or rate is None:
        return None
    room = pct * value * _ONE_PERCENT - batch.exposure()
    return most(room, max(limit, price) * rate, batch.limits.allow_fractional)


BOUNDS: Final[dict[Rule, Bound]] = {
    Rule.HOLDING: holding,
    Rule.CASH: cash,
    Rule.CASH_RESERVE: cash_reserve,
    Rule.POSITION: position,
    Rule.ORDER_NOTIONAL: order_notional,
    Rule.GROSS_EXPOSURE: gross_exposure,
}
"""Every rule that passes all quantities up to a bound and none above it."""


def smallest_bound(order: Candidate, batch: Batch) -> Decimal:
    """The smallest of all bounds: no larger quantity can pass."""
    found = (bound(order, batch) for bound in BOUNDS.values())
    return min((shares for shares in found if shares is not None), default=LARGEST_ORDER)


def _solved(order: Candidate, batch: Batch, room: Decimal, *, slope: Decimal | None, weight: Decimal) -> Decimal | None:
    """The largest q with slope·FX·q + weight·commission(q) ≤ room; slope in the instrument's currency, room in base."""
    schedule, rate, limit = order.schedule, order.fx, order.limit
    if schedule is None or rate is None or limit is None or slope is None or not limit > NOTHING < slope:
        return None
    fractional = batch.limits.allow_fractional
    each, fee_rate = slope * rate, weight * rate
    at_most = most(room, each + fee_rate * limit * schedule.maximum_pct * _ONE_PERCENT, fractional)
    by_minimum = most(room - fee_rate * schedule.minimum, each, fractional)
    by_share = most(room, each + fee_rate * schedule.per_share, fractional)
    return max(at_most, min(by_minimum, by_share))
