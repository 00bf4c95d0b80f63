"""What the executor's handlers share: the folded state, the way into the log, the broker and its executions."""

from typing import Protocol, TypeVar

from msgspec.structs import replace

from services.executor.broker import Answer, Broker, BrokerLost, Execution, Incomplete
from services.executor.reconcile import sent_orders
from shared.ledger.fold import find_order
from shared.ledger.state import LedgerOrder, Run, State
from shared.protocol.envelope import Draft, Event

T = TypeVar("T")


class OutOfStep(Exception):
    """The broker answered at another time than desk time, or on a connection that was not looked at yet: look again first."""


class Scribe(Protocol):
    """The part of the bus's participant that is needed here."""

    @property
    def state(self) -> State:
        """Everything folded so far."""
        ...

    @property
    def cursor(self) -> int:
        """The sequence folded up to."""
        ...

    async def append(self, draft: Draft) -> Event | None:
        """Append and fold; None if the log moved and the decision must be made again."""
        ...

    async def catch_up(self) -> None:
        """Fold up to the log's present end."""
        ...


class Desk:
    """One executor's view of log and broker."""

    def __init__(self, scribe: Scribe, broker: Broker) -> None:
        """Work for `scribe` at `broker`."""
        self.scribe, self.broker = scribe, broker
        self._executions: dict[str, list[Execution]] = {}
        self._last_execution = 0

    @property
    def state(self) -> State:
        """Everything folded so far."""
        return self.scribe.state

    @property
    def base_currency(self) -> str:
        """The desk's base currency; raises `LookupError` before a policy is adopted."""
        if self.state.policy is None:
            raise LookupError("no policy is adopted, so the base currency is not known")
        return self.state.policy.policy.base_currency

    def run(self, run: str | None) -> Run:
        """A run that has not ended."""
        return self.state.runs[run or ""]

    def order(self, order: str) -> LedgerOrder:
        """An order of such a run; raises `LookupError` for any other."""
        found = find_order(self.state, order)
        if found is None:
            raise LookupError(f"{order} is no order of a run that goes on")
        return found

    async def append(self, draft: Draft) -> bool:
        """Append; False if the log moved and the decision must be made again."""
        return await self._append(draft) is not None

    async def append_first(self, draft: Draft) -> bool:
        """Append; True only for an event of this very call: the effect of one that stood there already was begun elsewhere."""
        folded = self.scribe.cursor
        event = await self._append(draft)
        return event is not None and event.seq > folded

    async def _append(self, draft: Draft) -> Event | None:
        """Append on what is folded now: drafts are made of it without an await in between. Dropped events count as folded."""
        return await self.scribe.append(replace(draft, as_of=self.scribe.cursor))

    def in_step(self, answer: Answer[T]) -> T:
        """The answer's value, if it was given at desk time; raises `OutOfStep`, and `BrokerLost` for one that is not complete."""
        if isinstance(answer, Incomplete):
            raise BrokerLost(f"{answer.what}: the answer has no end marker, so it is unknown")
        if answer.clock != self.state.now:
            raise OutOfStep(f"the broker answered at {answer.clock}, desk time is {self.state.now}")
        return answer.value

    def known(self, answer: Answer[T]) -> T | None:
        """The same, None for one that is not complete."""
        return None if isinstance(answer, Incomplete) else self.in_step(answer)

    async def still_there(self) -> None:
        """Fold the log to its end, from its leader; raises `OutOfStep` if it went on, and what fences this process."""
        folded = self.scribe.cursor
        await self.scribe.catch_up()
        if self.scribe.cursor != folded:
            raise OutOfStep(f"the log went on from {folded} to {self.scribe.cursor}")

    async def sweep(self) -> None:
        """Fetch executions to their end marker; raises `BrokerLost` if it does not come."""
        self.swept(self.in_step(await self.broker.executions(self._last_execution)))

    async def try_sweep(self) -> bool:
        """The same; False if their end marker did not come."""
        found = self.known(await self.broker.executions(self._last_execution))
        self.swept(found or ())
        return found is not None

    def swept(self, found: tuple[Execution, ...]) -> None:
        """Remember executions. Those of orders whose end is in the log are forgotten."""
        for execution in found:
            self._executions.setdefault(execution.reference, []).append(execution)
            self._last_execution = execution.number
        wanted = {order.id for order in sent_orders(self.state)}
        self._executions = {ref: found for ref, found in self._executions.items() if ref in wanted}

    def executions(self, order: str | None = None) -> tuple[Execution, ...]:
        """What the last sweep knew, of one order or of all that are open in the ledger, each order's in the broker's order."""
        if order is not None:
            return tuple(self._executions.get(order, ()))
        return tuple(execution for _, found in sorted(self._executions.items()) for execution in found)
