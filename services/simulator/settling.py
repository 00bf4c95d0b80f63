"""Booking an execution: cash, position, order."""

from msgspec.structs import replace

from services.simulator.matching import Match, fee
from services.simulator.orders import Execution, Order, Status
from services.simulator.state import State
from shared.protocol.instants import Instant
from shared.protocol.market import Side
from shared.protocol.money import ZERO, Exact


def settle(rates: dict[str, Exact], state: State, order: Order, fill: Match, at: Instant) -> tuple[State, Order, Execution]:
    """Book one execution: cash, position, order."""
    charge = fee(fill.quantity, fill.price)
    shares = fill.quantity if order.side is Side.BUY else -fill.quantity
    number = state.last_execution + 1
    state = book(state, order.symbol, order.currency, Exact(shares), Exact(-shares * fill.price - charge))
    state = replace(state, last_execution=number)
    filled, remaining = Exact(order.filled + fill.quantity), Exact(order.remaining - fill.quantity)
    status = order.status if remaining else Status.FILLED
    execution = _execution(rates[order.currency], order, fill, charge, number, at)
    return state, replace(order, filled=filled, remaining=remaining, status=status), execution


def _execution(rate: Exact, order: Order, fill: Match, charge: Exact, number: int, at: Instant) -> Execution:
    """Execution number `number`; its id ends in the revision, as a broker's does."""
    return Execution(
        execution=f"{number:08d}.01.01",
        n=number,
        perm_id=order.perm_id,
        ref=order.ref,
        symbol=order.symbol,
        currency=order.currency,
        side=order.side,
        quantity=fill.quantity,
        price=fill.price,
        fee=charge,
        fee_currency=order.currency,
        fx=rate,
        at=at,
    )


def book(state: State, symbol: str, currency: str, shares: Exact, cash: Exact) -> State:
    """The state with so many shares and so much cash more; either may be negative."""
    positions = {name: quantity for name, quantity in state.positions.items() if name != symbol}
    if held := state.positions.get(symbol, ZERO) + shares:
        positions[symbol] = Exact(held)
    total = Exact(state.cash.get(currency, ZERO) + cash)
    return replace(state, cash={**state.cash, currency: total}, positions=positions)
