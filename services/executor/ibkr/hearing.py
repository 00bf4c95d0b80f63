"""What the broker itself says of orders, taken where it reaches the library, before the library makes something else of it.

`ib_async` invents statuses on errors, drops commissions that come before their execution, fires no event for executions that
answer a request, and hides statuses that it takes for known. Here every message is heard once, in its order, as it was sent.
"""

from collections.abc import Callable
from typing import Any, Final

import structlog
from ib_async import IB

from services.executor.ibkr.booking import split_id
from services.executor.ibkr.codes import Meaning, meaning
from services.executor.ibkr.life import CommissionSeen, Doubted, ErrorSeen, ExecutionSeen, Input, StatusSeen
from services.executor.ibkr.numbers import amount, positive
from shared.protocol.money import Money

MAX_KNOWN: Final = 100_000
MAX_UNCLAIMED: Final = 1_000
EVERYONE: Final = "*"
"""What concerns every order that has not ended."""

Sink = Callable[[str, Input], None]


class Hearing:
    """Listens on one connection. `fault` is the first exception of a listener: whoever sends orders must stop on it."""

    def __init__(self, ib: IB, sink: Sink) -> None:
        """Hand everything to `sink` with the order's reference, `EVERYONE`, or an empty one for an order that is not ours."""
        self._sink, self._client = sink, ib.client
        self.fault: BaseException | None = None
        self.opened: dict[str, StatusSeen] = {}
        """Open orders by reference, as the lists since the last `clear` had them."""
        self._by_order: dict[int, str] = {}
        self._by_perm: dict[int, str] = {}
        self._by_execution: dict[str, str] = {}
        self._unclaimed: dict[str, CommissionSeen] = {}
        for name in ("openOrder", "orderStatus", "execDetails", "commissionReport", "error"):
            self._tap(ib.wrapper, name)

    def sent(self, order_id: int, reference: str) -> None:
        """Errors about this id are about this order from now on; to be said before it is sent."""
        if len(self._by_order) < MAX_KNOWN:
            self._by_order[order_id] = reference

    def clear(self) -> None:
        """Begin a new list of open orders."""
        self.opened.clear()

    def _tap(self, wrapper: Any, name: str) -> None:
        """Listen to one kind of message; the library still gets it, whatever becomes of our own part."""
        library, ours = getattr(wrapper, name), getattr(self, f"_{name}")

        def listen(*arguments: Any) -> None:
            try:
                ours(*arguments)
            except Exception as error:
                self.fault = self.fault or error
                structlog.get_logger().exception("a message of the broker could not be taken in", message=name)
            library(*arguments)

        setattr(wrapper, name, listen)

    def _openOrder(self, order_id: int, _contract: Any, order: Any, state: Any) -> None:  # noqa: N802
        """An order with its reference: from here on its numbers are known."""
        if len(self._by_perm) < MAX_KNOWN:
            self._by_perm[order.permId] = order.orderRef
        if order.clientId == self._client.clientId:
            self.sent(order_id, order.orderRef)
        self.opened[order.orderRef] = StatusSeen(state.status, order.permId, None)

    def _orderStatus(  # noqa: N802
        self, order_id: int, status: str, filled: float, _remaining: float, _average: float, perm_id: int, _parent: int,
        _last: float, client_id: int, why_held: str, _cap: float = 0.0,
    ) -> None:  # fmt: skip
        """A status, which carries no reference of its own."""
        own = self._by_order.get(order_id, "") if client_id == self._client.clientId else ""
        reference = self._by_perm.get(perm_id) or own
        seen = StatusSeen(status, perm_id, amount(filled), why_held)
        if reference in self.opened:
            self.opened[reference] = seen
        self._sink(reference, seen)

    def _execDetails(self, _req: int, _contract: Any, execution: Any) -> None:  # noqa: N802
        """An execution, pushed or asked for; then the commission that came before it, if one did."""
        base = split_id(execution.execId)[0]
        if len(self._by_execution) < MAX_KNOWN:
            self._by_execution[base] = execution.orderRef
        self._sink(execution.orderRef, ExecutionSeen(execution.execId, positive(execution.shares), positive(execution.price)))
        if (paid := self._unclaimed.pop(execution.execId, None)) is not None:
            self._sink(execution.orderRef, paid)

    def _commissionReport(self, report: Any) -> None:  # noqa: N802
        """A commission; its order is known through its execution alone."""
        fee = amount(report.commission)
        seen = CommissionSeen(report.execId, None if fee is None or not report.currency else Money(fee, report.currency))
        reference = self._by_execution.get(split_id(report.execId)[0])
        if reference is not None:
            self._sink(reference, seen)
        elif len(self._unclaimed) < MAX_UNCLAIMED:
            self._unclaimed[report.execId] = seen

    def _error(self, about: int, code: int, words: str, _advanced: str) -> None:
        """An error about an order of ours, or about the connection and so about all."""
        if about in self._by_order:
            self._sink(self._by_order[about], ErrorSeen(code, words))
        elif meaning(code) is Meaning.DISCONNECTED:
            self._sink(EVERYONE, Doubted(f"{code}: {words}"))
