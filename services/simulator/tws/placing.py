"""New orders and cancels: the checks that a gateway makes itself, the faults that are armed, then the broker."""

from decimal import Decimal
from typing import TYPE_CHECKING, Final, assert_never

from msgspec.structs import replace

from services.simulator.orders import Cancel, Fill, Order, Place, Status
from services.simulator.tws import faults
from services.simulator.tws import outbound as out
from services.simulator.tws.asking import PlaceOrder
from services.simulator.tws.books import CLIENT_PREFIX, client_of
from services.simulator.tws.contracts import SMART, Instrument
from services.simulator.tws.faults import CancelRace, CancelRefused, CancelSilent, CancelTwice, OfPlacing
from services.simulator.tws.inbound import Unreadable
from services.simulator.tws.telling import USUAL, Manner
from shared.protocol.market import Side
from shared.protocol.money import Exact

if TYPE_CHECKING:
    from services.simulator.tws.client import Client
    from services.simulator.tws.gateway import Gateway

DUPLICATE_ID: Final = (103, "Duplicate order id")
BAD_TICK: Final = (110, "The price does not conform to the minimum price variation for this contract.")
FRACTION: Final = (10243, "Fractional-sized order cannot be placed via API.")
NO_DEFINITION: Final = (200, "No security definition has been found for the request")
TIF_SET: Final = (10349, "Order TIF was set to DAY based on order preset.")
NOT_FOUND: Final = 10147
NOT_CANCELLABLE: Final = 10148
INVALID: Final = 321
MAX_REFERENCE: Final = 64


def place(gateway: "Gateway", client: "Client", request: PlaceOrder) -> None:
    """Take a new order, refuse it, or do what a fault says; raises `Unreadable`, `NotStored`, `JournalError`."""
    owner = client.id if client.id is not None else 0
    if request.order_id <= gateway.books.last_id(owner) or request.order_id < 1:
        raise Unreadable(DUPLICATE_ID[0], request.order_id, DUPLICATE_ID[1])
    gateway.books.used(owner, request.order_id)
    found = _checked(gateway, request)
    armed = gateway.conditions.armed.placing(request.reference)
    for fault in armed:
        if isinstance(fault, faults.Refuse):
            client.send(out.error(request.order_id, fault.code, fault.text, fault.advanced))
            return
        if isinstance(fault, faults.Drop):
            return
    _submit(gateway, client, request, found, armed)


def _submit(gateway: "Gateway", client: "Client", request: PlaceOrder, found: Instrument, armed: list[OfPlacing]) -> None:
    """Hand an order to the broker; what comes of it is told by `telling`."""
    if not request.tif:
        client.send(out.error(request.order_id, *TIF_SET))
    teller = gateway.teller
    teller.next = _manner(armed)
    teller.quiet = any(isinstance(fault, faults.Swallow) for fault in armed)
    rests = any(isinstance(fault, faults.Rest) for fault in armed)
    refusal = next((fault.text for fault in armed if isinstance(fault, faults.Reject)), "")
    quantity, limit = request.quantity or Exact(0), request.limit or Exact(0)
    side = Side.BUY if request.action == "BUY" else Side.SELL
    try:
        gateway.broker.submit(
            Place(
                f"{CLIENT_PREFIX}{client.id or 0}", request.reference, found.symbol, found.currency, side, quantity, limit,
                order_id=request.order_id, rests=rests, waits=True, refusal=refusal,
            )
        )  # fmt: skip
    finally:
        swallowed, teller.next, teller.quiet = teller.quiet, USUAL, False
    if swallowed:
        client.abort()


def _checked(gateway: "Gateway", request: PlaceOrder) -> Instrument:
    """What a gateway refuses by itself; such an order does not exist. Raises `Unreadable`."""
    about = request.order_id
    contract = request.contract
    for wrong, said in _invalid(gateway, request):
        if wrong:
            raise Unreadable(INVALID, about, f"Error validating request.-'bN' : cause - {said}")
    found = gateway.catalogue.find(replace(contract, exchange=SMART))
    if len(found) != 1 or not found[0].traded or found[0].is_pair:
        raise Unreadable(NO_DEFINITION[0], about, NO_DEFINITION[1])
    if request.quantity is None or request.quantity % 1:
        raise Unreadable(FRACTION[0], about, FRACTION[1])
    if request.limit is None or request.limit % found[0].tick:
        raise Unreadable(BAD_TICK[0], about, BAD_TICK[1])
    return found[0]


def _invalid(gateway: "Gateway", request: PlaceOrder) -> tuple[tuple[bool, str], ...]:
    """What is wrong with the order's form, in a gateway's words."""
    reference = request.reference
    return (
        (request.what_if, "What-if orders are not kept by this gateway"),
        (not request.transmit, "Orders that are not transmitted are not kept by this gateway"),
        (request.contract.exchange == "", "Missing order exchange"),
        (request.contract.exchange != SMART, f"Only orders for {SMART} are taken by this gateway"),
        (request.action not in {"BUY", "SELL"}, f"Invalid action {request.action[:20]!a}"),
        (request.order_type != "LMT", f"Invalid order type {request.order_type[:20]!a}: only LMT is taken here"),
        (request.tif not in {"", "DAY"}, f"Invalid time in force {request.tif[:20]!a}: only DAY is taken here"),
        (request.account not in {"", gateway.account}, f"Invalid account code {request.account[:20]!a}."),
        (request.quantity is not None and request.quantity <= 0, "Size value cannot be zero or less"),
        (len(reference) > MAX_REFERENCE or not reference.isascii(), "Invalid order reference"),
    )


def _manner(armed: list[OfPlacing]) -> Manner:
    """How the order is told of, as the armed faults want it."""
    manner = USUAL
    for fault in armed:
        match fault:
            case faults.Reject():
                changes: dict[str, object] = {"variant": fault.variant, "reject_code": fault.code, "reject_text": fault.text}
                manner = replace(manner, advanced=fault.advanced, **changes)
            case faults.Notice():
                manner = replace(manner, notice=(fault.code, fault.text), why_held=fault.why_held)
            case faults.Twice():
                manner = replace(manner, twice=fault.what)
            case faults.Commission():
                manner = replace(manner, commission=fault.when)
            case faults.Refuse() | faults.Drop() | faults.Swallow() | faults.Rest():
                pass
            case _:
                assert_never(fault)
    return manner


def cancel(gateway: "Gateway", client: "Client", order_id: int) -> None:
    """End an order of this client, or say why not."""
    order = gateway.books.order(client.id or 0, order_id)
    if order is None:
        raise Unreadable(NOT_FOUND, order_id, f"OrderId {order_id} that needs to be cancelled is not found.")
    fault = gateway.conditions.armed.cancelling(order.ref)
    match fault:
        case CancelSilent():
            return
        case CancelRefused():
            client.send(out.error(order_id, fault.code, fault.text))
        case CancelRace() if order.status is Status.WORKING:
            _race(gateway, order, fault.quantity)
        case CancelTwice():
            gateway.teller.manners[order.perm_id] = replace(gateway.teller.manner(order.perm_id), double_cancel=True)
            end(gateway, order)
        case CancelRace() | None:
            end(gateway, order)
        case _:
            assert_never(fault)


def end(gateway: "Gateway", order: Order) -> None:
    """End a working order; of one that has ended its state is told."""
    if order.status is not Status.WORKING:
        return _too_late(gateway, order)
    gateway.teller.status(order, "PendingCancel", opened=False)
    gateway.broker.submit(Cancel(order.perm_id))
    return None


def _race(gateway: "Gateway", order: Order, quantity: Exact | None) -> None:
    """A fill meets the cancel: what is filled is filled, the rest is cancelled or the cancel came too late."""
    gateway.teller.status(order, "PendingCancel", opened=False)
    gateway.broker.submit(Fill(order, Exact(min(quantity or order.remaining, order.remaining, key=Decimal)), order.limit))
    now = gateway.broker.orders[order.perm_id]
    if now.status is Status.WORKING:
        gateway.broker.submit(Cancel(order.perm_id))
    else:
        _too_late(gateway, now)


def _too_late(gateway: "Gateway", order: Order) -> None:
    """The order cannot be cancelled any more."""
    word = gateway.books.wire(order).status
    text = f"OrderId {order.order_id} that needs to be cancelled can not be cancelled, state: {word}."
    gateway.to(client_of(order), out.error(order.order_id, NOT_CANCELLABLE, text))
