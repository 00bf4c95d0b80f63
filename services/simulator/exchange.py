"""The exchange and the account on it: pure, deterministic, exact. `apply(exchange, state, command) -> outcome`.

Time moves by `Advance` alone. When it passes a session's close, resting orders are matched in the order of their permanent ids
and then expire, whatever the step is called. Nothing here reads a clock, a file or a socket.
"""

from decimal import localcontext
from typing import Final, assert_never

from msgspec.structs import replace

from services.simulator.exact import EXACT
from services.simulator.injection import correct, fill
from services.simulator.matching import Match, at_close, on_arrival
from services.simulator.orders import Advance, Cancel, Correct, Execution, Fill, Order, Place, Session, Status
from services.simulator.prices import Bar
from services.simulator.rejection import rejection
from services.simulator.scenario import Script
from services.simulator.scripted import Scene
from services.simulator.settling import settle
from services.simulator.state import Exchange, Outcome, State, opening
from shared.protocol.money import ZERO, Exact

__all__ = ["Command", "Exchange", "Outcome", "State", "apply", "opening"]

EXPIRED: Final = "Order Canceled - reason: the DAY order expired at the close"
CANCELLED: Final = "Order Canceled - reason: cancelled by the client"


Command = Advance | Place | Cancel | Fill | Correct | Script


def apply(exchange: Exchange, state: State, command: Command) -> Outcome:
    """What `command` does; the very same state comes back where it does nothing."""
    with localcontext(EXACT):
        match command:
            case Advance():
                return _advance(exchange, state, command)
            case Place():
                return _place(exchange, state, command)
            case Cancel():
                return _cancel(state, command)
            case Fill():
                return fill(exchange, state, command)
            case Correct():
                return correct(exchange, state, command)
            case Script():
                return Outcome(_adjusted(exchange, replace(state, scripts=(*state.scripts, command.script))))
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
    after = replace(outcome.state, clock=command.to, session=command.session, step=command.step)
    moved = outcome._replace(state=_adjusted(exchange, after))
    opens = state.session is None or command.session.index > state.session.index
    return _open(exchange, moved) if opens and moved.state.working else moved


def _open(exchange: Exchange, outcome: Outcome) -> Outcome:
    """Match what waited for this session, as if it arrived now."""
    state, orders, executions = outcome
    waiting, state = state.working, replace(state, working=())
    for order in waiting:
        matched = _arrive(exchange, state, order)
        state = matched.state
        orders, executions = (*orders, *matched.orders), (*executions, *matched.executions)
    return Outcome(state, orders, executions)


def _adjusted(exchange: Exchange, state: State) -> State:
    """The state after the scripted changes of the account whose moment has come."""
    for place, entry in Scene(exchange, state).adjustments():
        if place in state.adjusted:
            continue
        cash, positions = dict(state.cash), dict(state.positions)
        if entry.currency is not None:
            cash[entry.currency] = Exact(cash.get(entry.currency, ZERO) + entry.amount)
        if entry.symbol is not None:
            positions[entry.symbol] = Exact(positions.get(entry.symbol, ZERO) + entry.quantity)
        held = {symbol: quantity for symbol, quantity in positions.items() if quantity}
        state = replace(state, cash=cash, positions=held, adjusted=(*state.adjusted, place))
    return state


def _close(exchange: Exchange, state: State, session: Session) -> Outcome:
    """Match every resting order against the session's bar, then let what is left expire."""
    ended: list[Order] = []
    executions: list[Execution] = []
    scene = Scene(exchange, replace(state, clock=session.closes_at, step="close"))
    working, state = state.working, replace(state, working=())
    for order in working:
        found = None if order.rests else _closing_fill(exchange, scene, order, session)
        if found is not None:
            state, order, execution = settle(scene.rates(), state, order, found, session.closes_at)
            executions.append(execution)
        ended.append(_end(order, Status.EXPIRED, EXPIRED) if order.status is Status.WORKING else order)
    return Outcome(state, tuple(ended), tuple(executions))


def _place(exchange: Exchange, state: State, command: Place) -> Outcome:
    """Reject the order, fill it at once or let it rest."""
    message = command.refusal or rejection(exchange, state, command)
    order = _new_order(state, command, message)
    state = replace(state, last_perm_id=order.perm_id)
    if message or state.now is None or state.clock is None:
        return Outcome(state, (order,))
    if state.now.closed:
        return Outcome(replace(state, working=(*state.working, order)), (order,))
    return _arrive(exchange, state, order)


def _arrive(exchange: Exchange, state: State, order: Order) -> Outcome:
    """Fill an order at once against the quote or let it rest; the session is open."""
    if state.now is None or state.clock is None:
        raise ValueError("an order arrives in a session")
    scene = Scene(exchange, state)
    found = None if order.rests else _arriving_fill(exchange, scene, order, state.now.session)
    executions: tuple[Execution, ...] = ()
    if found is not None:
        state, order, execution = settle(scene.rates(), state, order, found, state.clock)
        executions = (execution,)
    if order.status is Status.WORKING:
        state = replace(state, working=(*state.working, order))
    return Outcome(state, (order,), executions)


def _arriving_fill(exchange: Exchange, scene: Scene, order: Order, index: int) -> Match | None:
    """The fill of an order on arrival: at the far side of the quote, within the bar unless the quote is scripted."""
    quote, bar = scene.quoted(order.symbol), exchange.file.bar(order.symbol, index)
    found = on_arrival(order, bar, quote.bid, quote.ask, scripted=quote.scripted)
    return _as_scripted(scene, order, found)


def _closing_fill(exchange: Exchange, scene: Scene, order: Order, session: Session) -> Match | None:
    """The fill of a resting order at the close: against the bar, or where the close is scripted against that alone."""
    quote, bar = scene.quoted(order.symbol), exchange.file.bar(order.symbol, session.index)
    if quote.scripted:
        bar = None if quote.last is None else Bar(None, None, None, quote.last, bar.volume if bar else None)
    return _as_scripted(scene, order, at_close(order, bar))


def _as_scripted(scene: Scene, order: Order, fill: Match | None) -> Match | None:
    """What is left of a fill by halts, closed exchanges and what is scripted for the order."""
    if fill is None or not scene.trades(order.symbol):
        return None
    entry = scene.order(order)
    if entry is None or entry.then != "rest":
        return fill
    most = min(fill.quantity, entry.shares - order.filled)
    return fill._replace(quantity=Exact(most)) if most > 0 else None


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
        order_id=command.order_id,
        rests=command.rests,
    )


def _end(order: Order, status: Status, message: str) -> Order:
    """The order in a final state."""
    return replace(order, status=status, message=message)
