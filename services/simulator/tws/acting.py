"""Doing a fault: arming it, changing conditions, or making the broker do something of its own."""

from typing import TYPE_CHECKING, Final, assert_never

from services.simulator.orders import Cancel, Correct, Execution, Fill, Order, Place, Status
from services.simulator.tws import faults as do
from services.simulator.tws import outbound as out
from services.simulator.tws.books import newest
from services.simulator.tws.faults import Fault, FaultError
from services.simulator.tws.order_messages import completed_order
from shared.protocol.money import Exact

if TYPE_CHECKING:
    from services.simulator.tws.client import Client
    from services.simulator.tws.gateway import Gateway

CONNECTION_LOST: Final = (1100, "Connectivity between IBKR and Trader Workstation has been lost.")
RESTORED: Final = {
    1101: "Connectivity between IBKR and Trader Workstation has been restored - data lost.",
    1102: "Connectivity between IBKR and Trader Workstation has been restored - data maintained.",
}
MALFORMED: Final = b"11\0-1\0not\0an\0execution\0"
UNKNOWN: Final = b"9999\0" + b"1\0"


def act(gateway: "Gateway", fault: Fault) -> None:
    """Do one fault; raises `FaultError` that says why it cannot be done, `NotStored`, `JournalError`."""
    conditions = gateway.conditions
    if isinstance(fault, do.OfPlacing | do.OfCancelling):
        conditions.armed.arm(fault)
        return
    match fault:
        case do.Execute() | do.Revise() | do.EndOrder() | do.Manual() | do.Release():
            _trade(gateway, fault)
        case do.Say():
            gateway.to(fault.client, out.error(fault.about, fault.code, fault.text))
        case do.Lost():
            gateway.to(None, out.error(out.SYSTEM, *CONNECTION_LOST))
            conditions.lost = fault.fills
        case do.Restored():
            _restore(gateway, fault.code)
        case do.HalfOpen():
            conditions.half_open = fault.on
        case do.Abort():
            for client in _clients(gateway, fault.client):
                client.abort()
        case do.Restart():
            _restart(gateway, fault)
        case do.Up():
            conditions.refusing = False
        case do.NoEnd():
            conditions.no_end[fault.of] = fault.count
        case do.Ready():
            conditions.ready = fault.on
        case do.Frames():
            conditions.split, conditions.glue = fault.split, fault.glue
        case do.Noise():
            _noise(gateway, fault)
        case do.Data():
            conditions.data = fault.kind
        case do.Zone():
            gateway.books.zone = fault.zone
        case do.Limits():
            conditions.limits = fault.on
        case _:
            assert_never(fault)


def _trade(gateway: "Gateway", fault: do.Execute | do.Revise | do.EndOrder | do.Manual | do.Release) -> None:
    """What changes the broker's books, or tells of them."""
    teller = gateway.teller
    teller.quiet = isinstance(fault, do.Execute | do.Revise) and fault.silent
    try:
        match fault:
            case do.Execute():
                order = _order(gateway, fault.ref)
                quantity = order.quantity - order.filled if fault.quantity is None else fault.quantity
                gateway.broker.submit(Fill(order, Exact(quantity), fault.price or order.limit))
            case do.Revise():
                old = _execution(gateway, fault.ref)
                gateway.broker.submit(Correct(old, fault.quantity or old.quantity, fault.price or old.price))
            case do.EndOrder():
                gateway.broker.submit(Cancel(_order(gateway, fault.ref).perm_id))
            case do.Manual():
                _manual(gateway, fault)
            case do.Release():
                teller.release()
            case _:
                assert_never(fault)
    except ValueError as error:
        raise FaultError(str(error)) from error
    finally:
        teller.quiet = False


def _order(gateway: "Gateway", ref: str) -> Order:
    """The newest order of a reference that is not rejected; raises `FaultError`."""
    found = [order for order in gateway.broker.with_ref(ref) if order.status is not Status.REJECTED]
    if not found:
        raise FaultError(f"no order has the reference {ref!r}")
    return found[-1]


def _execution(gateway: "Gateway", ref: str) -> Execution:
    """The newest execution of a reference, at its newest revision; raises `FaultError`."""
    found = newest(execution for execution in gateway.broker.executions if execution.ref == ref)
    if not found:
        raise FaultError(f"no execution has the reference {ref!r}")
    return found[-1]


def _manual(gateway: "Gateway", fault: do.Manual) -> None:
    """A trade made by hand: an order of nobody that is filled at once."""
    currency = gateway.broker.exchange.currency_of(fault.symbol)
    placed = Place("manual", "", fault.symbol, currency, fault.side, fault.quantity, fault.price, rests=True)
    order = gateway.broker.submit(placed).orders[0]
    if order.status is Status.REJECTED:
        raise FaultError(order.message)
    gateway.broker.submit(Fill(order, fault.quantity, fault.price))


def _restore(gateway: "Gateway", code: int) -> None:
    """The broker is back: say so, then what happened meanwhile, if that is ever told."""
    conditions = gateway.conditions
    if conditions.lost is None:
        raise FaultError("the connection to the broker is not lost")
    conditions.lost = None
    gateway.to(None, out.error(out.SYSTEM, code, RESTORED[code]))
    if code == 1101:
        for client in gateway.clients.values():
            client.tickers.clear()
            client.account = None
    kept, conditions.kept = conditions.kept, []
    for client_id, message in kept:
        gateway.to(client_id, message)


def _restart(gateway: "Gateway", fault: do.Restart) -> None:
    """The gateway's own memory is gone; the broker's is not."""
    conditions = gateway.conditions
    for client in _clients(gateway, None):
        client.abort()
    conditions.refusing, conditions.rollback = fault.refusing, fault.rollback
    conditions.lost, conditions.half_open, conditions.kept = None, False, []
    for order in gateway.books.open()[-fault.forgets :] if fault.forgets else []:
        gateway.books.hidden.add(order.perm_id)
        gateway.broker.submit(Cancel(order.perm_id))


def _noise(gateway: "Gateway", fault: do.Noise) -> None:
    """Send everyone what they do not expect."""
    for client in gateway.clients.values():
        if fault.kind == "completed":
            orders = gateway.books.completed()
            if not orders:
                raise FaultError("no order has ended today")
            client.send(completed_order(gateway.books.wire(orders[-1])))
        else:
            client.send_payload(MALFORMED if fault.kind == "malformed" else UNKNOWN)


def _clients(gateway: "Gateway", client_id: int | None) -> list["Client"]:
    """One connected client or all; raises `FaultError` for one that is not connected."""
    if client_id is None:
        return list(gateway.clients.values())
    if client_id not in gateway.clients:
        raise FaultError(f"client {client_id} is not connected")
    return [gateway.clients[client_id]]
