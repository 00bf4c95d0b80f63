"""What clients are told unasked when the broker's books change: orders, executions, commissions, positions, account, quotes."""

from typing import TYPE_CHECKING, Final

import msgspec

from services.simulator.exchange import Command
from services.simulator.orders import Advance, Correct, Execution, Fill, Order, Place, Status
from services.simulator.state import Outcome
from services.simulator.tws import account_lists, outbound, ticks
from services.simulator.tws import order_messages as wire
from services.simulator.tws.books import client_of
from services.simulator.tws.fields import UNSET_DOUBLE, Message, Value
from shared.protocol.money import ZERO

if TYPE_CHECKING:
    from services.simulator.tws.gateway import Gateway

CANCELLED: Final = 202
REJECTED: Final = 201
WAITS: Final = 399
MAX_FLAGS: Final = 100_000


class Manner(msgspec.Struct, frozen=True):
    """How one order is told of, where a scenario wants it otherwise than usual."""

    commission: str = "now"
    twice: str = ""
    why_held: str = ""
    variant: str = "b"
    reject_code: int = REJECTED
    reject_text: str = ""
    advanced: str = ""
    notice: tuple[int, str] | None = None
    silent: bool = False
    double_cancel: bool = False


USUAL: Final = Manner()


class Teller:
    """Tells clients; `next` is the manner of the next new order, `quiet` keeps the next outcome from being told."""

    def __init__(self, gateway: "Gateway") -> None:
        """Everything is told as usual."""
        self._gateway = gateway
        self.manners: dict[int, Manner] = {}
        self.next = USUAL
        self.quiet = False
        self.late: list[Execution] = []

    def tell(self, command: Command, outcome: Outcome) -> None:
        """Tell of one outcome: its orders with their executions, then what follows from them."""
        if isinstance(command, Place):
            self._keep(outcome.orders[0].perm_id, self.next)
        for order in outcome.orders:
            fills = [fill for fill in outcome.executions if fill.perm_id == order.perm_id]
            if not self.quiet and order.perm_id not in self._gateway.books.hidden:
                self._order(command, order, fills)
        if outcome.executions and not self.quiet:
            self._holdings(outcome)
        if isinstance(command, Advance):
            ticks.push(self._gateway)

    def manner(self, perm_id: int) -> Manner:
        """How an order is told of."""
        return self.manners.get(perm_id, USUAL)

    def send(self, order: Order, message: Message) -> None:
        """Tell the client whose order it is, now or when the broker is back."""
        client, conditions = client_of(order), self._gateway.conditions
        if client is None or conditions.half_open:
            return
        if conditions.lost is not None:
            if conditions.lost == "later":
                conditions.kept.append((client, message))
            return
        self._gateway.to(client, message)

    def said(self, order: Order, status: str | None = None) -> wire.WireOrder:
        """An order as it is told now: one that is held, or that waits for a session, is PreSubmitted."""
        why_held, now = self.manner(order.perm_id).why_held, self._gateway.broker.state.now
        holds = order.status is Status.WORKING and (why_held or now is None or now.closed)
        told = self._gateway.books.wire(order, status or ("PreSubmitted" if holds else None))
        return msgspec.structs.replace(told, why_held=why_held) if told.status == "PreSubmitted" else told

    def status(self, order: Order, status: str | None = None, *, opened: bool = True) -> None:
        """Tell where an order stands: with `opened` the order itself too."""
        self._status(order, self.said(order, status), opened=opened)

    def _status(self, order: Order, said: wire.WireOrder, *, opened: bool = True) -> None:
        """Tell one state of an order, twice if a scenario wants that."""
        for _ in range(2 if self.manner(order.perm_id).twice == "status" else 1):
            if opened:
                self.send(order, wire.open_order(said))
            self.send(order, wire.order_status(said))

    def commission(self, execution: Execution, when: str = "now") -> Message:
        """The commission report of an execution."""
        odd: dict[str, Value] = {"unset": UNSET_DOUBLE, "minus_one": -1}
        amount = odd.get(when, execution.fee)
        return wire.commission_report(execution.execution, amount, execution.fee_currency)

    def told_on_request(self, execution: Execution) -> bool:
        """Whether a list of executions brings this one's commission."""
        return self.manner(execution.perm_id).commission != "never" and execution not in self.late

    def release(self) -> None:
        """Tell late commissions and let go of orders that are held."""
        late, self.late = self.late, []
        for execution in late:
            self.send(self._gateway.broker.orders[execution.perm_id], self.commission(execution))
        for order in self._gateway.books.open():
            manner = self.manner(order.perm_id)
            if manner.why_held:
                self._keep(order.perm_id, msgspec.structs.replace(manner, why_held=""))
                self.status(order)

    def _keep(self, perm_id: int, manner: Manner) -> None:
        """Remember a manner that is not the usual one."""
        if manner is not USUAL and len(self.manners) < MAX_FLAGS:
            self.manners[perm_id] = manner

    def _order(self, command: Command, order: Order, fills: list[Execution]) -> None:
        """Everything about one order of an outcome."""
        if isinstance(command, Place):
            if order.status is Status.REJECTED:
                return self._rejected(order)
            self._accepted(order)
        for fill in fills:
            self._executed(order, fill)
        if order.status is Status.WORKING or (fills and not isinstance(command, Correct)):
            self.status(order)
        if order.status in {Status.CANCELLED, Status.EXPIRED} and not isinstance(command, Fill | Correct):
            self._cancelled(order)
        for fill in fills:
            self._charged(order, fill)
        return None

    def _accepted(self, order: Order) -> None:
        """A new order was taken: it is first seen as PreSubmitted."""
        manner, state = self.manner(order.perm_id), self._gateway.broker.state
        untouched = {"filled": ZERO, "remaining": order.quantity, "average": ZERO, "last_price": ZERO}
        self._status(order, msgspec.structs.replace(self.said(order, "PreSubmitted"), **untouched))
        if manner.notice is not None:
            self.send(order, outbound.error(order.order_id, *manner.notice))
        if state.now is not None and state.now.closed:
            text = "Order Message:\nWarning: your order will not be placed at the exchange until the next session opens"
            self.send(order, outbound.error(order.order_id, WAITS, text))

    def _rejected(self, order: Order) -> None:
        """A new order was rejected: an error, with or without the status, before or after it."""
        manner = self.manner(order.perm_id)
        refusal = outbound.error(order.order_id, manner.reject_code, manner.reject_text or order.message, manner.advanced)
        if manner.variant in {"a", "c"}:
            self.send(order, refusal)
        if manner.variant in {"b", "c"}:
            self.status(order, "Inactive", opened=manner.variant == "b")
        if manner.variant == "b":
            self.send(order, refusal)

    def _executed(self, order: Order, fill: Execution) -> None:
        """One execution, with its commission before it if a scenario wants that."""
        manner, books = self.manner(order.perm_id), self._gateway.books
        if manner.commission == "before":
            self.send(order, self.commission(fill))
        message = wire.execution(books.wire(order), books.wire_execution(fill))
        for _ in range(2 if manner.twice == "execution" else 1):
            self.send(order, message)

    def _charged(self, order: Order, fill: Execution) -> None:
        """The commission of one execution: an order with it, the status again, and the report."""
        when = self.manner(order.perm_id).commission
        if when == "late":
            self.late.append(fill)
        if when not in {"now", "unset", "minus_one"}:
            return
        said = self._gateway.books.wire(order)
        if order.status is Status.FILLED and when == "now":
            self.send(order, wire.open_order(said, fill.fee, fill.fee_currency))
            self.send(order, wire.order_status(said))
        self.send(order, self.commission(fill, when))

    def _cancelled(self, order: Order) -> None:
        """An order has ended without being filled whole: its status and 202, which can come twice."""
        notice = outbound.error(order.order_id, CANCELLED, order.message)
        if self.manner(order.perm_id).double_cancel:
            self.send(order, notice)
        self.status(order, "Cancelled", opened=False)
        self.send(order, notice)

    def _holdings(self, outcome: Outcome) -> None:
        """Positions and account of those who subscribed to them."""
        symbols = sorted({fill.symbol for fill in outcome.executions})
        for client in list(self._gateway.clients.values()):
            if not self._gateway.conditions.deaf:
                account_lists.push(self._gateway, client, symbols)
