"""The broker's side as clients of the gateway see it: orders and executions of the day, open orders, costs of holdings.

All of it is read off the broker's books, so that a gateway that ends and comes back says the same. What only the gateway
knows (sessions, subscriptions) stands in `gateway`.
"""

from collections.abc import Iterable
from decimal import Decimal, localcontext
from typing import Final

from msgspec.structs import replace

from services.simulator.broker import Broker
from services.simulator.exact import EXACT
from services.simulator.orders import Execution, Order, Status
from services.simulator.state import Outcome
from services.simulator.tws.contracts import PRIMARY, Catalogue
from services.simulator.tws.order_messages import WireContract, WireExecution, WireOrder
from shared.protocol.instants import parse
from shared.protocol.market import Side
from shared.protocol.money import ZERO, Exact, divide

CLIENT_PREFIX: Final = "tws:"
WORDS: Final = {
    Status.WORKING: "Submitted",
    Status.FILLED: "Filled",
    Status.CANCELLED: "Cancelled",
    Status.EXPIRED: "Cancelled",
    Status.REJECTED: "Inactive",
}
ZONE: Final = "UTC"
FIRST_REVISION: Final = ".01"


class Books:
    """Reads the broker; `hidden` are orders that a fault made the broker forget."""

    def __init__(self, broker: Broker, catalogue: Catalogue) -> None:
        """Index what is there; `took` keeps up with what comes."""
        self.broker, self.catalogue = broker, catalogue
        self.hidden: set[int] = set()
        self.zone = ZONE
        self._executions: dict[int, list[Execution]] = {}
        self._last_ids: dict[int, int] = {}
        self._costs: dict[str, tuple[Decimal, Decimal]] = {}
        self.took(Outcome(broker.state, tuple(broker.orders.values()), tuple(broker.executions)))

    def took(self, outcome: Outcome) -> None:
        """Keep up with an outcome of the broker."""
        for order in outcome.orders:
            client = client_of(order)
            if client is not None and order.perm_id not in self.hidden:
                self._last_ids[client] = max(self._last_ids.get(client, 0), order.order_id)
        for execution in outcome.executions:
            self._executions.setdefault(execution.perm_id, []).append(execution)
            first = execution.execution.endswith(FIRST_REVISION)
            before = self._costs.get(execution.symbol, (Decimal(0), Decimal(0)))
            self._costs[execution.symbol] = _costs(before, execution) if first else self._cost_of(execution.symbol)

    def last_id(self, client: int) -> int:
        """The largest order id that this client has used, 0 for none."""
        return self._last_ids.get(client, 0)

    def used(self, client: int, order_id: int) -> None:
        """Remember an order id that was used for an order which the broker did not take."""
        self._last_ids[client] = max(self._last_ids.get(client, 0), order_id)

    def order(self, client: int, order_id: int) -> Order | None:
        """A client's newest order with this id."""
        found = (order for order in reversed(self.broker.orders.values()) if order.order_id == order_id)
        return next((order for order in found if client_of(order) == client and order.perm_id not in self.hidden), None)

    def open(self, client: int | None = None) -> list[Order]:
        """Orders that work, of one client or of all."""
        working = [order for order in self.broker.state.working if order.perm_id not in self.hidden]
        return [order for order in working if client is None or client_of(order) == client]

    def completed(self) -> list[Order]:
        """Orders that have ended in the present session or were placed in it."""
        orders = (order for order in self.broker.orders.values() if order.status is not Status.WORKING)
        return [order for order in orders if order.perm_id not in self.hidden and self._today(order.at)]

    def executions(self) -> list[Execution]:
        """All executions of the present session, every revision."""
        return [execution for execution in self.broker.executions if self._today(execution.at)]

    def wire(self, order: Order, status: str | None = None) -> WireOrder:
        """An order for the wire, under another status if one is named."""
        fills = newest(self._executions.get(order.perm_id, ()))
        action = "BUY" if order.side is Side.BUY else "SELL"
        ended = "" if order.status is Status.WORKING else self._time(fills[-1].at if fills else order.at)
        return WireOrder(
            order.order_id, client_of(order) or 0, order.perm_id, self.contract(order.symbol, order.currency), action,
            order.quantity, order.limit, self.broker.exchange.terms.account, order.ref, status or WORDS[order.status],
            order.filled, order.remaining, average(fills), fills[-1].price if fills else ZERO, end_time=ended,
            end_text=_end(order),
        )  # fmt: skip

    def wire_execution(self, execution: Execution) -> WireExecution:
        """An execution for the wire, with the sums of its order up to it."""
        before = [other for other in self._executions[execution.perm_id] if other.n <= execution.n]
        fills = newest(before)
        with localcontext(EXACT):
            total = Exact(sum((fill.quantity for fill in fills), Decimal(0)))
        side = "BOT" if execution.side is Side.BUY else "SLD"
        time = self._time(execution.at)
        return WireExecution(execution.execution, time, PRIMARY, side, execution.quantity, execution.price, total, average(fills))

    def contract(self, symbol: str, currency: str) -> WireContract:
        """The contract of a share that is traded here."""
        found = self.catalogue.share(symbol, currency)
        return WireContract(0, symbol, "STK", "SMART", currency, symbol, "") if found is None else found.wire

    def cost(self, symbol: str) -> Exact:
        """The average price of what is held, each trade at its newest revision, 0 for nothing."""
        shares, value = self._costs.get(symbol, (Decimal(0), Decimal(0)))
        return divide(value, shares) if shares else ZERO

    def _cost_of(self, symbol: str) -> tuple[Decimal, Decimal]:
        """Shares and their cost from the first trade on: what a correction makes necessary."""
        sums = (Decimal(0), Decimal(0))
        fills = [fill for kept in self._executions.values() for fill in newest(kept) if fill.symbol == symbol]
        for fill in sorted(fills, key=lambda fill: fill.n):
            sums = _costs(sums, fill)
        return sums

    def _today(self, at: str | None) -> bool:
        """Whether a time lies in the present session or after it."""
        session = self.broker.state.session
        return at is not None and session is not None and at[:10] >= session.opens_at[:10]

    def _time(self, at: str | None) -> str:
        """A time as the wire has it, with its zone."""
        return f"{parse(at):%Y%m%d %H:%M:%S} {self.zone}" if at is not None else ""


def _costs(sums: tuple[Decimal, Decimal], fill: Execution) -> tuple[Decimal, Decimal]:
    """Shares held and what they cost after one more trade."""
    shares, value = sums
    if fill.side is Side.BUY:
        return shares + fill.quantity, value + fill.quantity * fill.price
    left = max(shares - fill.quantity, Decimal(0))
    return left, divide(value * left, shares) if shares else Decimal(0)


def client_of(order: Order) -> int | None:
    """The client id of an order that came over the TWS face."""
    return int(order.client.removeprefix(CLIENT_PREFIX)) if order.client.startswith(CLIENT_PREFIX) else None


def newest(executions: Iterable[Execution]) -> list[Execution]:
    """The newest revision of each execution, in the order in which they first came."""
    kept: dict[str, Execution] = {}
    for execution in executions:
        kept[execution.execution.rpartition(".")[0]] = execution
    return list(kept.values())


def average(fills: list[Execution]) -> Exact:
    """The average price of executions, 0 for none."""
    with localcontext(EXACT):
        shares = sum((fill.quantity for fill in fills), Decimal(0))
        value = sum((fill.quantity * fill.price for fill in fills), Decimal(0))
    return divide(value, shares) if shares else ZERO


def with_status(order: WireOrder, status: str, **changes: object) -> WireOrder:
    """The same order in another status."""
    return replace(order, status=status, **changes)


def _end(order: Order) -> str:
    """How an order ended, in the words of a completed order."""
    return f"Filled Size: {order.filled}" if order.status is Status.FILLED else order.message
