"""Does the order keep within the policy's limits? Rules that need something unknown are skipped: evidence has blocked already."""

from services.gate.batch import Batch
from services.gate.candidate import Candidate
from services.gate.numbers import HUNDRED, NOTHING, amount, percent
from services.gate.rules import bounds
from services.gate.rules.reasons import count_reason, reason
from shared.protocol.events import Reason
from shared.protocol.money import Exact
from shared.protocol.reasons import Rule


def price_collar(order: Candidate, batch: Batch) -> Reason | None:
    """The limit price is near the reference price."""
    price, limit = order.price, order.limit
    if price is None or limit is None:
        return None
    pct = batch.limits.max_price_deviation_pct
    gap = abs(limit - price)
    if gap * HUNDRED <= pct * price:
        return None
    found, room = percent(gap, price), pct * price / HUNDRED
    told = f"limit {limit} is {_pct(found)} from the reference price {amount(price)}, at most {pct} % pass"
    return reason(Rule.PRICE_COLLAR, f"{told}: {amount(price - room)} to {amount(price + room)}", pct, found, room)


def monthly_orders(order: Candidate, batch: Batch) -> Reason | None:
    """Orders of the month are left; exits are counted but not blocked if the policy exempts them."""
    used, limit = batch.used_month, batch.limits.max_trades_per_month
    if used < limit or _exempt(order, batch):
        return None
    told = f"order {used + 1} of the month in {batch.limits.month_timezone}, at most {limit} pass"
    return count_reason(Rule.MONTHLY_ORDERS, told, limit, used + 1, max(limit - used, 0))


def daily_orders(order: Candidate, batch: Batch) -> Reason | None:
    """Orders of the exchange day are left, of the book and of the account; exits as above."""
    if _exempt(order, batch):
        return None
    counts = (
        ("book", batch.used_day, batch.limits.max_orders_per_day),
        ("account", batch.account_used_day(), batch.policy.account.max_orders_per_day),
    )
    for whose, used, limit in counts:
        if limit is not None and used >= limit:
            told = f"order {used + 1} of the {whose}'s day, at most {limit} pass"
            return count_reason(Rule.DAILY_ORDERS, told, limit, used + 1, max(limit - used, 0))
    return None


def commission_share(order: Candidate, batch: Batch) -> Reason | None:
    """The commission is a small part of the order's value; exits are not blocked if the policy exempts them."""
    fee, gross = order.fee, order.gross
    if fee is None or gross is None:
        return None
    pct = batch.limits.max_commission_pct
    if fee * HUNDRED <= pct * gross or _exempt(order, batch):
        return None
    found, room = percent(fee, gross), pct * gross / HUNDRED
    told = f"commission {amount(fee)} is {_pct(found)} of the order's {amount(gross)} {order.currency[:3]}, at most {pct} % pass"
    return reason(Rule.COMMISSION_SHARE, told, pct, found, room)


def holding(order: Candidate, batch: Batch) -> Reason | None:
    """A SELL of no more than is held and not reserved for other sells: no shorting."""
    shares = order.quantity
    if shares is None or order.buys:
        return None
    free = batch.sellable(order.key)
    if shares <= free:
        return None
    told = f"SELL {shares} of {amount(order.held)} held, {amount(order.held - free)} of them reserved for other sells"
    if batch.book.at_broker is not None:
        told = f"SELL {shares} of {amount(order.held)} held; log and broker differ, {free} are at the broker for it"
    return reason(Rule.HOLDING, told, free, shares, bounds.holding(order, batch))


def cash(order: Candidate, batch: Batch) -> Reason | None:
    """A BUY is paid from cash that nothing else has reserved: no margin."""
    notional, commission = order.notional, order.commission
    if notional is None or commission is None or not order.buys:
        return None
    free, cost = batch.free, notional + commission
    if free is None:
        return reason(Rule.CASH, "free cash is unknown: what a working order reserves is not known", None, cost)
    if cost <= free:
        return None
    told = f"the order costs {amount(cost)} {batch.policy.base_currency} with commission, {amount(free)} is free"
    return reason(Rule.CASH, told, free, cost, bounds.cash(order, batch))


def cash_reserve(order: Candidate, batch: Batch) -> Reason | None:
    """A BUY leaves a part of the book's value in cash."""
    pct, value, free = batch.limits.min_cash_pct, batch.value, batch.free
    notional, commission = order.notional, order.commission
    if pct is None or not order.buys or notional is None or commission is None or value is None or free is None:
        return None
    after = free - notional - commission
    if after * HUNDRED >= pct * value:
        return None
    found = percent(after, value)
    told = (
        f"free cash after it is {amount(after)}, {_pct(found)} of the book's value {amount(value)}; at least {pct} % must be left"
    )
    return reason(Rule.CASH_RESERVE, told, pct, found, bounds.cash_reserve(order, batch))


def position(order: Candidate, batch: Batch) -> Reason | None:
    """A BUY leaves the instrument a limited part of the value after the fee, of the book's and of the account's.

    Drifting above it is tolerated.
    """
    shares, price, rate, commission = order.quantity, order.price, order.fx, order.commission
    if not order.buys or shares is None or price is None or rate is None or commission is None:
        return None
    more = shares * price * rate
    for cap in bounds.position_caps(order, batch):
        if cap.value is None or cap.used is None:
            return _unknown(Rule.POSITION, cap)
        worth, whole = cap.used + more, cap.value - commission
        if whole > NOTHING and worth * HUNDRED <= cap.pct * whole:
            continue
        found = percent(worth, whole)
        told = f"{order.key} would be {_pct(found)} of the {cap.whose}'s value after the fee ({amount(whole)})"
        return reason(Rule.POSITION, f"{told}, at most {cap.pct} % pass", cap.pct, found, bounds.position(order, batch))
    return None


def order_notional(order: Candidate, batch: Batch) -> Reason | None:
    """The order, valued at the larger of limit and reference price, is not too large."""
    largest, shares, limit, price, rate = (
        batch.limits.max_order_notional,
        order.quantity,
        order.limit,
        order.price,
        order.fx,
    )
    if largest is None or shares is None or limit is None or price is None or rate is None:
        return None
    worth = shares * max(limit, price) * rate
    if worth <= largest:
        return None
    told = f"the order is worth {amount(worth)} {batch.policy.base_currency}, at most {largest} pass"
    return reason(Rule.ORDER_NOTIONAL, told, largest, worth, bounds.order_notional(order, batch))


def gross_exposure(order: Candidate, batch: Batch) -> Reason | None:
    """A BUY keeps holdings and open BUYs within a part of the value, of the book's and of the account's."""
    caps = bounds.gross_caps(order, batch)
    shares, limit, price, rate = order.quantity, order.limit, order.price, order.fx
    if not caps or shares is None or limit is None or price is None or rate is None:
        return None
    more = shares * max(limit, price) * rate
    for cap in caps:
        if cap.value is None or cap.used is None:
            return _unknown(Rule.GROSS_EXPOSURE, cap)
        exposed = cap.used + more
        if exposed * HUNDRED <= cap.pct * cap.value:
            continue
        found = percent(exposed, cap.value)
        told = f"exposure would be {amount(exposed)}, {_pct(found)} of the {cap.whose}'s value {amount(cap.value)}"
        told = f"{told}; at most {cap.pct} % pass"
        return reason(Rule.GROSS_EXPOSURE, told, cap.pct, found, bounds.gross_exposure(order, batch))
    return None


def _unknown(rule: Rule, cap: bounds.Cap) -> Reason:
    """Nothing passes a limit on a value that is unknown."""
    told = f"the {cap.whose}'s value or exposure is unknown: a book holds, or buys, what has no price or no rate"
    return reason(rule, told, cap.pct, None, NOTHING)


def _exempt(order: Candidate, batch: Batch) -> bool:
    """Whether the policy lets this order pass as the exit of something held."""
    return batch.limits.exits_exempt and order.exits


def _pct(value: Exact | None) -> str:
    """A percentage for a message; unknown where the whole is not above 0."""
    return "an unknown percentage" if value is None else f"{value} %"
