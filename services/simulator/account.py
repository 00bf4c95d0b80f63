"""Sums over the account: what is free to trade with, and what all of it is worth."""

from decimal import Decimal, localcontext

from services.simulator.exact import EXACT
from services.simulator.matching import fee
from services.simulator.orders import Order, Position
from services.simulator.scripted import Scene
from services.simulator.state import Exchange, State
from shared.protocol.market import Side
from shared.protocol.money import ZERO, Exact, NumberError


def cost(quantity: Decimal, limit: Decimal) -> Decimal:
    """The most that a BUY can take: its value at the limit with the fee, which grow with the price."""
    return quantity * limit + fee(quantity, limit)


def free_cash(exchange: Exchange, state: State) -> Decimal:
    """Cash of all currencies in the base currency, less what the working BUYs can still take."""
    rates = Scene(exchange, state).rates()
    held = sum((amount * rates[currency] for currency, amount in state.cash.items()), Decimal(0))
    bound = (cost(order.remaining, order.limit) * rates[order.currency] for order in _working(state, Side.BUY))
    return held - sum(bound, Decimal(0))


def free_shares(state: State, symbol: str) -> tuple[Decimal, Decimal]:
    """Shares held of `symbol`, and how many of them working SELLs have bound."""
    bound = (order.remaining for order in _working(state, Side.SELL) if order.symbol == symbol)
    return state.positions.get(symbol, ZERO), sum(bound, Decimal(0))


def _working(state: State, side: Side) -> list[Order]:
    """The working orders of one side."""
    return [order for order in state.working if order.side is side]


def positions(exchange: Exchange, state: State) -> list[Position]:
    """All holdings by symbol."""
    return [Position(symbol, exchange.currency_of(symbol), quantity) for symbol, quantity in sorted(state.positions.items())]


def net_liquidation(exchange: Exchange, state: State) -> Exact | None:
    """Cash and holdings in the base currency, None if a holding has no price at all or the sum is beyond all bounds.

    A holding without a price now is valued at its newest known close, as brokers do.
    """
    with localcontext(EXACT):
        scene = Scene(exchange, state)
        rates = scene.rates()
        total = sum((amount * rates[currency] for currency, amount in state.cash.items()), Decimal(0))
        for symbol, quantity in state.positions.items():
            price = scene.mark(symbol) if state.now is not None else None
            if price is None:
                return None
            total += quantity * price * rates[exchange.currency_of(symbol)]
        try:
            return Exact(total)
        except NumberError:
            return None
