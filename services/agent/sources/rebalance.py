"""Rebalancing: its days, and the orders that bring a book to target weights."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Final, NamedTuple

from services.agent.sources.port import RunView, symbol_order
from shared.protocol.instants import Day
from shared.protocol.market import ProposedOrder, Side, split_key
from shared.protocol.money import Exact, tick_down, tick_up, wide_context

DAYS: Final = 2
TICK: Final = Decimal("0.01")
SELL_AT: Final = Decimal("0.99")
BUY_AT: Final = Decimal("1.01")
MAX_NAMED: Final = 20


class Plan(NamedTuple):
    """Orders towards targets, in symbol order, and the names skipped because price or rate is unknown."""

    orders: tuple[ProposedOrder, ...]
    unknown: tuple[str, ...]


def is_rebalance_day(sessions: Sequence[Day], index: int) -> bool:
    """Whether `sessions[index]` is one of the first two sessions of the window or of a calendar month in it.

    The second day catches up what did not fill on the first.
    """
    return index < DAYS or sessions[index - DAYS][:7] != sessions[index][:7]


def plan_towards(view: RunView, value: Exact, weights: Mapping[str, Fraction]) -> Plan:
    """Bring each name of `weights` to its share of `value` (base currency) in whole shares, rounded down.

    Weight 0 sells what is held. A name that `weights` leaves out stays as it is.
    """
    orders: list[ProposedOrder] = []
    unknown: list[str] = []
    for key in sorted(weights, key=symbol_order):
        price = price_in_base(view, key)
        if price is not None:
            orders.extend(_order_towards(view, key, floor(Fraction(value) * weights[key] / price)))
        elif weights[key] or view.held(key):
            unknown.append(key)
    return Plan(tuple(orders), tuple(unknown))


def price_in_base(view: RunView, key: str) -> Fraction | None:
    """The reference price of a name in base currency, exact; None if price or rate is unknown."""
    reference, fx = view.references.get(key), view.fx.get(split_key(key)[1])
    return None if reference is None or fx is None else Fraction(reference) * Fraction(fx)


def _order_towards(view: RunView, key: str, target: int) -> tuple[ProposedOrder, ...]:
    """The order that brings a name to `target` shares; none for a difference under one share."""
    difference = target - Fraction(view.held(key))
    shares = floor(abs(difference))
    if not shares:
        return ()
    side = Side.BUY if difference > 0 else Side.SELL
    reason = f"{target} shares wanted, {view.held(key)} held"
    return (order(key, side, str(shares), limit_inside(side, view.references[key]), reason),)


def limit_inside(side: Side, reference: Exact) -> Exact:
    """1 % from the reference on the far side, rounded towards the reference to a cent: a SELL up, a BUY down."""
    with wide_context():
        return tick_down(reference * BUY_AT, TICK) if side is Side.BUY else tick_up(reference * SELL_AT, TICK)


def order(key: str, side: Side, quantity: str, limit: Exact, reason: str) -> ProposedOrder:
    """A proposed limit order for an instrument of the universe."""
    symbol, currency = split_key(key)
    return ProposedOrder(symbol, currency, side.value, quantity, str(limit), reason)


def summary_of(what: str, plan: Plan) -> str:
    """What a plan does, and which names it had to skip."""
    buys = sum(row.side == Side.BUY for row in plan.orders)
    text = f"{what}: {buys} to buy, {len(plan.orders) - buys} to sell"
    return f"{text}; skipped, no price known: {named(plan.unknown)}" if plan.unknown else text


def named(keys: Sequence[str]) -> str:
    """Names in one line, at most `MAX_NAMED` of them."""
    more = f" and {len(keys) - MAX_NAMED} more" if len(keys) > MAX_NAMED else ""
    return ", ".join(keys[:MAX_NAMED]) + more
