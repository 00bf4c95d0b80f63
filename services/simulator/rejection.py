"""Why the broker does not take an order, in a broker's words."""

from decimal import Decimal
from typing import Final

from services.simulator.account import cost, free_cash, free_shares
from services.simulator.orders import TICK, Place
from services.simulator.scripted import Scene
from services.simulator.state import Exchange, State
from shared.protocol.market import Side
from shared.protocol.money import plain

MAX_QUANTITY: Final = Decimal(10**9)
MAX_LIMIT: Final = Decimal(10**9)


def rejection(exchange: Exchange, state: State, order: Place) -> str | None:
    """The first reason against `order`, None if it is taken."""
    if not exchange.knows(order.symbol, order.currency):
        return f"No security definition has been found for the request: {order.symbol} {order.currency}"
    if reason := _form(order):
        return reason
    scene = Scene(exchange, state)
    if not scene.is_open(exchange.exchange_of(order.symbol)) and not (order.waits and state.now is not None and state.now.closed):
        return f"Order rejected - reason: the exchange is closed at {state.clock or 'this time'}"
    scripted = scene.order(order)
    if scripted is not None and scripted.then == "reject":
        return scripted.message
    return _shares(state, order) if order.side is Side.SELL else _funds(exchange, state, order)


def _form(order: Place) -> str | None:
    """What is wrong with the numbers themselves."""
    if not 0 < order.quantity <= MAX_QUANTITY or order.quantity % 1:
        return f"Order rejected - reason: the size {order.quantity:f} is not a whole number of shares from 1 to {MAX_QUANTITY}"
    if not 0 < order.limit <= MAX_LIMIT:
        return f"Order rejected - reason: the limit price {order.limit:f} is not greater than 0 and at most {MAX_LIMIT}"
    if order.limit % TICK:
        return f"The price {order.limit:f} does not conform to the minimum price variation of {TICK} for this contract."
    return None


def _shares(state: State, order: Place) -> str | None:
    """A SELL may take what is held and not yet offered: the account does not sell short."""
    held, bound = free_shares(state, order.symbol)
    if order.quantity <= held - bound:
        return None
    return (
        f"Order rejected - reason: short sale: SELL {order.quantity:f} {order.symbol}, "
        f"but {plain(held)} are held and {plain(bound)} of them are in working SELL orders"
    )


def _funds(exchange: Exchange, state: State, order: Place) -> str | None:
    """A BUY may take the cash that working BUYs have not bound; the account does not borrow in sum."""
    base_currency = exchange.terms.base_currency
    needed = cost(order.quantity, order.limit) * Scene(exchange, state).rates()[order.currency]
    free = free_cash(exchange, state)
    if needed <= free:
        return None
    return (
        f"Order rejected - reason: insufficient cash: {plain(needed)} {base_currency} are needed with the fee, "
        f"{plain(free)} are free"
    )
