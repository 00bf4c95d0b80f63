"""When and at what price an order fills against a daily bar: documented, conservative, never at an equal price.

With open, high and low a bar is "full": an order that crosses the quote on arrival fills at the far side of the quote, one
that rests fills at the close if the bar traded through its limit. Otherwise only the close matches, and only at the close.
A price is never outside the bar, and one order never takes more than a tenth of the day's volume.
"""

from decimal import ROUND_FLOOR, Decimal
from typing import Final, NamedTuple

from services.simulator.orders import Order
from services.simulator.prices import Bar
from shared.protocol.market import Side
from shared.protocol.money import Exact

FEE_PER_SHARE: Final = Decimal("0.005")
MIN_FEE: Final = Decimal("1.00")
MAX_FEE_SHARE: Final = Decimal("0.01")
MAX_VOLUME_SHARE: Final = Decimal("0.1")


class Match(NamedTuple):
    """Shares and price of one execution to be."""

    quantity: Exact
    price: Exact


def fee(quantity: Decimal, price: Decimal) -> Exact:
    """0.005 a share, at least 1.00, at most 1 % of the value, which wins over the minimum; exact, rounded to no cent."""
    return Exact(min(max(quantity * FEE_PER_SHARE, MIN_FEE), quantity * price * MAX_FEE_SHARE))


def on_arrival(
    order: Order, bar: Bar | None, bid: Decimal | None, ask: Decimal | None, *, scripted: bool = False
) -> Match | None:
    """The fill of an order that crosses the quote, None if it rests. A scripted quote is traded at, whatever the bar says."""
    price = _crossed(order, bid, ask)
    if price is None:
        return None
    if scripted:
        return _fill(order, bar, price)
    if bar is None or bar.high is None or bar.low is None or bar.open is None:
        return None
    return _fill(order, bar, min(price, bar.high) if order.side is Side.BUY else max(price, bar.low))


def _crossed(order: Order, bid: Decimal | None, ask: Decimal | None) -> Decimal | None:
    """The far side of the quote that an order crosses, None if it does not."""
    if order.side is Side.BUY:
        return ask if ask is not None and order.limit > ask else None
    return bid if bid is not None and order.limit < bid else None


def at_close(order: Order, bar: Bar | None) -> Match | None:
    """The fill of a resting order at the session's close, None if it ends unfilled."""
    if bar is None:
        return None
    buys = order.side is Side.BUY
    if bar.high is None or bar.low is None or bar.open is None:
        crosses = bar.close < order.limit if buys else bar.close > order.limit
        return _fill(order, bar, bar.close) if crosses else None
    crosses = bar.low < order.limit if buys else bar.high > order.limit
    price = min(order.limit, bar.high) if buys else max(order.limit, bar.low)
    return _fill(order, bar, price) if crosses else None


def _fill(order: Order, bar: Bar | None, price: Decimal) -> Match | None:
    """What is left of the order at `price`, within the day's volume where that is known."""
    quantity: Decimal = order.remaining
    if bar is not None and bar.volume is not None:
        most = (bar.volume * MAX_VOLUME_SHARE).to_integral_value(rounding=ROUND_FLOOR)
        quantity = min(quantity, most - order.filled)
    return Match(Exact(quantity), Exact(price)) if quantity > 0 else None
