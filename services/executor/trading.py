"""Sends orders, resolves unfinished intents by evidence, books fills and ends. Intent before effect; one send per intent."""

import time
from collections.abc import Callable
from typing import Final

from services.executor import decisions
from services.executor.broker import BrokerContradiction, BrokerOrder, OrderStatus
from services.executor.desk import Desk, OutOfStep
from services.executor.fills import fill_settled, needs_rate, unsettled
from services.executor.orders import CancelFirst, Hold, Send, Withhold, next_to_send, qualified
from shared.ledger.caused import is_overdue
from shared.protocol.market import Order

NO_CONNECTION: Final = 0
MAX_PAUSE_S: Final = 2.0
"""An order is not sent on what was folded longer ago than this: the log's end is read again first."""
MAX_LOOKS: Final = 100


class Trading:
    """The orders of one account. After anything it did or tried to append, work is looked up anew in the folded state."""

    def __init__(self, desk: Desk, clock: Callable[[], float] = time.monotonic) -> None:
        """Trade for `desk`; `clock` gives seconds of real time, by which pauses are noticed."""
        self._desk, self._clock = desk, clock
        self._sent_on: dict[str, int] = {}

    async def advance(self, run_id: str | None) -> bool:
        """Send or withhold the next unsent order of a run; False if all of them have to wait.

        After a pause between intent and send nothing is sent on an old view: what the log says by then decides in `resolve`.
        """
        began = self._clock()
        run, connection = self._desk.run(run_id), self._desk.broker.connection
        match next_to_send(self._desk.state, run):
            case Send() as decision:
                if not await self._desk.append_first(decisions.intended(self._desk.state, run, decision)):
                    return True
                if not self._desk.order(decision.order.id).must_end:
                    await self._transmit(decision, connection, began)
                    await self._record(decision.order.id)
            case Withhold() as decision:
                await self._desk.append(decisions.withheld(self._desk.state, run, decision))
            case CancelFirst(order=buy):
                await self.close(buy.id, cancel=True)
            case Hold():
                return False
        return True

    async def resolve(self, order_id: str) -> None:
        """Resolve an intent without `OrderPlaced`, by evidence given on a connection newer than any it was sent on.

        The broker serves that connection only after it has read the older one to its end. If it then does not know the
        reference, the order was never received and is sent for the first time, or withheld if something stands against it by now.
        The log is folded to its end before that: another executor may have dealt with the intent while this one stood still.
        """
        broker = self._desk.broker
        if broker.connection <= self._sent_on.get(order_id, NO_CONNECTION):
            await broker.renew()
            raise OutOfStep(f"{order_id}: a new connection was made to ask for it")
        connection = broker.connection
        if await self._find(order_id) is None:
            began = self._clock()
            await self._desk.still_there()
            order = self._desk.order(order_id)
            run = self._desk.run(order.run)
            decision = qualified(self._desk.state, run, order)
            if isinstance(decision, Withhold):
                await self._desk.append(decisions.withheld(self._desk.state, run, decision))
                return
            await self._transmit(decision, connection, began)
        await self._record(order_id)

    async def close(self, order_id: str, *, cancel: bool = False) -> None:
        """Book an order's fills and its end; where it still works it is cancelled first if an operator or a halt wants that."""
        order = self._desk.order(order_id)
        found = await self._known(order_id)
        wanted = cancel or order.must_end or is_overdue(self._desk.state, self._desk.run(order.run), order)
        if found.status is OrderStatus.WORKING and wanted:
            await self._desk.broker.cancel(found.permanent_id)
            await self._desk.broker.sync()
            found = await self._known(order_id)
        if found.status is OrderStatus.WORKING:
            raise BrokerContradiction(f"{order_id}: the log says that it must have ended, the broker that it works")
        if not await self.book_fills(order_id):
            return
        order = self._desk.order(order_id)
        if order.filled != found.filled:
            raise BrokerContradiction(f"{order_id}: {found.filled} filled, but its executions add up to {order.filled}")
        await self._desk.append(decisions.closed(self._desk.state, self._desk.run(order.run), order, found))
        self._sent_on.pop(order_id, None)

    async def book_fills(self, order_id: str) -> bool:
        """Append the executions of an order that the log lacks, one after another; False if the log moved meanwhile."""
        await self._desk.sweep()
        for execution in unsettled(self._desk.order(order_id), self._desk.executions(order_id)):
            order, base = self._desk.order(order_id), self._desk.base_currency
            rates = self._desk.in_step(await self._desk.broker.observe(())).fx if needs_rate(execution, base) else {}
            data = fill_settled(order, execution, base, rates)
            if not await self._desk.append(decisions.filled(self._desk.state, self._desk.run(order.run), order, data)):
                return False
        return True

    async def _still_fresh(self, since: float) -> None:
        """Read the log's end again if it was folded over `MAX_PAUSE_S` ago; raises `OutOfStep` if the log went on meanwhile."""
        for _ in range(MAX_LOOKS):
            if self._clock() - since <= MAX_PAUSE_S:
                return
            since = self._clock()
            await self._desk.still_there()
        raise OutOfStep(f"{MAX_LOOKS} pauses of over {MAX_PAUSE_S:g} s between an intent and its sending")

    async def _transmit(self, decision: Send, connection: int, since: float) -> None:
        """Send an order once, on the connection that was open when it was decided, and wait until the broker dealt with it.

        `since` is when the log was last known to say nothing against it.
        """
        await self._still_fresh(since)
        order, broker = decision.order, self._desk.broker
        self._sent_on[order.id] = connection
        sent = Order(order.symbol, order.currency, order.side, order.quantity, decision.limit)
        await broker.place(order.id, sent, connection)
        await broker.sync()

    async def _record(self, order_id: str) -> None:
        """Append `OrderPlaced`; of an order that rests its first fills come before it, because desk time may go on after it."""
        found = await self._known(order_id)
        if found.status is OrderStatus.WORKING and not await self.book_fills(order_id):
            return
        order = self._desk.order(order_id)
        await self._desk.append(decisions.placed(self._desk.state, self._desk.run(order.run), order, found))

    async def _known(self, order_id: str) -> BrokerOrder:
        """The broker's order; raises `BrokerContradiction` if it does not have what the log says it has."""
        found = await self._find(order_id)
        if found is None:
            raise BrokerContradiction(f"{order_id}: the log says that it was sent, the broker does not know it")
        return found

    async def _find(self, order_id: str) -> BrokerOrder | None:
        """The one order that carries our reference, None if there is none; raises `BrokerContradiction` for several."""
        found = self._desk.in_step(await self._desk.broker.orders(order_id))
        if len(found) > 1:
            numbers = ", ".join(order.permanent_id for order in found)
            raise BrokerContradiction(f"{order_id}: {len(found)} orders at the broker carry this reference: {numbers}")
        return found[0] if found else None
