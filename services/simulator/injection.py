"""What a scenario does to the books beyond the exchange model: fills of its own and corrections of executions. Pure."""

from msgspec.structs import replace

from services.simulator.matching import Match
from services.simulator.orders import Correct, Execution, Fill, Order, Status
from services.simulator.scripted import Scene
from services.simulator.settling import book, settle
from services.simulator.state import Exchange, Outcome, State
from shared.protocol.market import Side
from shared.protocol.money import ZERO, Exact


def fill(exchange: Exchange, state: State, command: Fill) -> Outcome:
    """Execute part of an order, at most what is left of it; one that has ended keeps its end unless it is filled by this.

    Raises `ValueError` before the first advance and for quantities or prices that are no fill.
    """
    working = {order.perm_id: order for order in state.working}
    order = working.get(command.order.perm_id, command.order)
    if state.clock is None or not 0 < command.quantity <= order.quantity - order.filled or command.price <= 0:
        raise ValueError(f"{command.quantity} at {command.price} is no fill of order {order.perm_id}")
    state, order, execution = settle(
        Scene(exchange, state).rates(), state, order, Match(command.quantity, command.price), state.clock
    )
    if order.perm_id in working:
        kept = (order if other.perm_id == order.perm_id else other for other in state.working)
        state = replace(state, working=tuple(other for other in kept if other.status is Status.WORKING))
    return Outcome(state, (order,), (execution,))


def correct(_: Exchange, state: State, command: Correct) -> Outcome:
    """Replace an execution by its next revision; the difference goes to cash and position. The fee stays.

    Raises `ValueError` for quantities or prices that are no fill. An order that has ended follows in `Broker`, which knows it.
    """
    old = command.execution
    if state.clock is None or command.quantity <= 0 or command.price <= 0:
        raise ValueError(f"{command.quantity} at {command.price} is no correction of {old.execution}")
    sign = 1 if old.side is Side.BUY else -1
    shares = Exact(sign * (command.quantity - old.quantity))
    cash = Exact(sign * (old.quantity * old.price - command.quantity * command.price))
    number = state.last_execution + 1
    state = replace(book(state, old.symbol, old.currency, shares, cash), last_execution=number)
    base, dot, revision = old.execution.rpartition(".")
    changes = {
        "execution": f"{base}{dot}{int(revision) + 1:02d}",
        "n": number,
        "quantity": command.quantity,
        "price": command.price,
    }
    new: Execution = replace(old, **changes)
    kept = tuple(corrected(order, old, new) if order.perm_id == old.perm_id else order for order in state.working)
    return Outcome(replace(state, working=kept), tuple(order for order in kept if order.perm_id == old.perm_id), (new,))


def corrected(order: Order, old: Execution, new: Execution) -> Order:
    """The order after one of its executions was corrected."""
    filled = Exact(order.filled + new.quantity - old.quantity)
    left = Exact(max(order.quantity - filled, ZERO))
    return replace(order, filled=filled, remaining=left)
