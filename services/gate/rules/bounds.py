"""The largest quantity that each rule monotone in quantity lets pass, solved from the rule itself.

A bound is a number of shares, None where the rule does not apply to the order, is off, or needs something unknown. A BUY's
commission is min(A·q, max(m, B·q)), so `slope·q + weight·commission(q) ≤ room` holds exactly when it holds with A·q, or with both
m and B·q: three linear conditions.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Final, NamedTuple

from services.gate.batch import Batch
from services.gate.candidate import MAX_INTEGER_DIGITS, Candidate
from services.gate.numbers import HUNDRED, NOTHING, ONE, most
from shared.protocol.reasons import Rule

Bound = Callable[[Candidate, Batch], Decimal | None]

LARGEST_ORDER: Final = Decimal(10) ** MAX_INTEGER_DIGITS - 1
"""More shares than this are no quantity of an order."""

BOOK: Final = "book"
ACCOUNT: Final = "account"
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


class Cap(NamedTuple):
    """A limit on a part of a value, of the book or of the account: `used` and `value` in base currency, None if unknown."""

    whose: str
    pct: Decimal
    used: Decimal | None
    value: Decimal | None


def position_caps(order: Candidate, batch: Batch) -> tuple[Cap, ...]:
    """The limits on one instrument: of the book, unless its value is unknown, which blocks by itself, and of the account."""
    price, rate, account = order.price, order.fx, batch.policy.account.max_position_pct
    if not order.buys or price is None or rate is None:
        return ()
    value, key = batch.value, order.key
    own = Cap(BOOK, batch.limits.max_position_pct, batch.position(key) * price * rate, value)
    caps = () if value is None else (own,)
    if account is None:
        return caps
    return (*caps, Cap(ACCOUNT, account, batch.account_position(key) * price * rate, batch.account_value))


def gross_caps(order: Candidate, batch: Batch) -> tuple[Cap, ...]:
    """The limits on all holdings and BUYs at work, of the book and of the account, as far as there are any."""
    own, account = batch.limits.max_gross_pct, batch.policy.account.max_gross_pct
    if not order.buys:
        return ()
    caps = () if own is None or batch.value is None else (Cap(BOOK, own, batch.exposure(), batch.value),)
    return caps if account is None else (*caps, Cap(ACCOUNT, account, batch.account_exposure(), batch.account_value))


def position(order: Candidate, batch: Batch) -> Decimal | None:
    """A BUY: (held + reserved + q)·ref·FX + p·commission(q) ≤ p·value, p being a limit as a fraction."""
    found = (_position_bound(cap, order, batch) for cap in position_caps(order, batch))
    return min((shares for shares in found if shares is not None), default=None)


def _position_bound(cap: Cap, order: Candidate, batch: Batch) -> Decimal | None:
    """What one of the limits lets pass."""
    if cap.value is None or cap.used is None:
        return NOTHING
    share = cap.pct * _ONE_PERCENT
    return _solved(order, batch, share * cap.value - cap.used, slope=order.price, weight=share)


def order_notional(order: Candidate, batch: Batch) -> Decimal | None:
    """q × the larger of limit and reference × FX ≤ limit."""
    largest = batch.limits.max_order_notional
    if largest is None or order.limit is None or order.price is None or order.fx is None:
        return None
    return most(largest, max(order.limit, order.price) * order.fx, batch.limits.allow_fractional)


def gross_exposure(order: Candidate, batch: Batch) -> Decimal | None:
    """A BUY: exposure + q × the larger of limit and reference × FX ≤ p·value."""
    caps, limit, price, rate = gross_caps(order, batch), order.limit, order.price, order.fx
    if not caps or limit is None or price is None or rate is None:
        return None
    each, fractional = max(limit, price) * rate, batch.limits.allow_fractional
    return min(most(_room(cap), each, fractional) for cap in caps)


def _room(cap: Cap) -> Decimal:
    """What a limit leaves in base currency; nothing where it is unknown."""
    return NOTHING if cap.value is None or cap.used is None else cap.pct * cap.value * _ONE_PERCENT - cap.used


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
