"""The exchange and the account on it: pure, deterministic, exact. `apply(exchange, state, command) -> outcome`.

Time moves by `Advance` alone. When it passes a session's close, resting orders are matched in the order of their permanent ids
and then expire, whatever the step is called. Nothing here reads a clock, a file or a socket.
"""

from decimal import localcontext
from typing import Final, assert_never

from msgspec.structs import replace

from services.simulator.exact import EXACT
from services.simulator.market import prices
from services.simulator.matching import Fill, at_close, fee, on_arrival
from services.simulator.orders import Advance, Cancel, Execution, Order, Place, Session, Status, Terms
from services.simulator.rejection import rejection
from services.simulator.state import Exchange, Outcome, State, opening
from shared.protocol.instants import Instant
from shared.protocol.market import Side
from shared.protocol.money import ZERO, Exact

__all__ = ["Exchange", "Outcome", "State", "apply", "opening"]

EXPIRED: Final = "Order Canceled - reason: the DAY order expired at the close"
CANCELLED: Final = "Order Canceled - reason: cancelled by the client"


def apply(exchange: Exchange, state: State, command: Advance | Place | Cancel) -> Outcome:
    """What `command` does; the very same state comes back where it does nothing."""
    with localcontext(EXACT):
        match command:
            case Advance():
                return _advance(exchange, state, command)
            case Place():
                return _place(exchange, state, command)
            case Cancel():
                return _cancel(state, command)
            case _:
                assert_never(command)


def _advance(exchange: Exchange, state: State, command: Advance) -> Outcome:
    """Move time, closing the session that ends on the way; raises `ValueError` for a session that has not opened."""
    if state.clock is not None and command.to <= state.clock:
        return Outcome(state)
    if command.to < command.session.opens_at:
        raise ValueError(f"{command.session.day} opens at {command.session.opens_at}, after {command.to}")
    outcome = Outcome(state)
    if state.session is not None and state.now is not None and not state.now.closed and command.to >= state.session.closes_at:
        outcome = _close(exchange, state, state.session)
    return outcome._replace(state=replace(outcome.state, clock=command.to, session=command.session))


def _close(exchange: Exchange, state: State, session: Session) -> Outcome:
    """Match every resting order against the session's bar, then let what is left expire."""
    ended: list[Order] = []
    executions: list[Execution] = []
    working, state = state.working, replace(state, working=())
    for order in working:
        fill = at_close(order, exchange.file.bar(order.symbol, session.index))
        if fill is not None:
            state, order, execution = _settle(exchange.terms, state, order, fill, session.closes_at)
            executions.append(execution)
        ended.append(_end(order, Status.EXPIRED, EXPIRED) if order.status is Status.WORKING else order)
    return Outcome(state, tuple(ended), tuple(executions))


def _place(exchange: Exchange, state: State, command: Place) -> Outcome:
    """Reject the order, fill it at once or let it rest."""
    message = rejection(exchange, state, command)
    order = _new_order(state, command, message)
    state = replace(state, last_perm_id=order.perm_id)
    if message or state.now is None or state.clock is None:
        return Outcome(state, (order,))
    quote = prices(exchange.file, order.symbol, state.now)
    fill = on_arrival(order, exchange.file.bar(order.symbol, state.now.session), quote.bid, quote.ask)
    executions: tuple[Execution, ...] = ()
    if fill is not None:
        state, order, execution = _settle(exchange.terms, state, order, fill, state.clock)
        executions = (execution,)
    if order.status is Status.WORKING:
        state = replace(state, working=(*state.working, order))
    return Outcome(state, (order,), executions)


def _cancel(state: State, command: Cancel) -> Outcome:
    """End a working order; any other stays as it is."""
    order = next((order for order in state.working if order.perm_id == command.perm_id), None)
    if order is None:
        return Outcome(state)
    rest = tuple(other for other in state.working if other is not order)
    return Outcome(replace(state, working=rest), (_end(order, Status.CANCELLED, CANCELLED),))


def _new_order(state: State, command: Place, message: str | None) -> Order:
    """The order under the next permanent id, working or rejected."""
    return Order(
        perm_id=state.last_perm_id + 1,
        client=command.client,
        ref=command.ref,
        symbol=command.symbol,
        currency=command.currency,
        side=command.side,
        quantity=command.quantity,
        limit=command.limit,
        status=Status.REJECTED if message else Status.WORKING,
        filled=ZERO,
        remaining=command.quantity,
        message=message or "",
        at=state.clock,
    )


def _end(order: Order, status: Status, message: str) -> Order:
    """The order in a final state."""
    return replace(order, status=status, message=message)


def _settle(terms: Terms, state: State, order: Order, fill: Fill, at: Instant) -> tuple[State, Order, Execution]:
    """Book one execution: cash, position, order."""
    charge = fee(fill.quantity, fill.price)
    shares = fill.quantity if order.side is Side.BUY else -fill.quantity
    cash = state.cash.get(order.currency, ZERO) - shares * fill.price - charge
    held = state.positions.get(order.symbol, ZERO) + shares
    positions = {symbol: quantity for symbol, quantity in state.positions.items() if symbol != order.symbol}
    if held:
        positions[order.symbol] = Exact(held)
    number = state.last_execution + 1
    state = replace(state, cash={**state.cash, order.currency: Exact(cash)}, positions=positions, last_execution=number)
    filled, remaining = Exact(order.filled + fill.quantity), Exact(order.remaining - fill.quantity)
    status = order.status if remaining else Status.FILLED
    execution = _execution(terms, order, fill, charge, number, at)
    return state, replace(order, filled=filled, remaining=remaining, status=status), execution


def _execution(terms: Terms, order: Order, fill: Fill, charge: Exact, number: int, at: Instant) -> Execution:
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
        fx=terms.rates()[order.currency],
        at=at,
    )
