"""The rest of the desk on a log in memory or on a server: whatever executor, agent and desk owe is written by hand."""

import asyncio
from collections.abc import Callable

from services.gate.service import work
from shared.bus.memory import MemoryLog, MemoryRpc
from shared.bus.participant import Participant
from shared.bus.ports import Log, Rpc
from shared.ledger.fold import apply, find_order
from shared.ledger.hashing import state_hash
from shared.ledger.owed import Owed, owed
from shared.ledger.state import LedgerOrder, State
from shared.protocol.envelope import Draft, Event, read_event
from shared.protocol.events import (
    AccountReconciled,
    BookArgs,
    BookOpened,
    CashDeposited,
    ClockAdvanced,
    EventData,
    FillSettled,
    OrderClosed,
    OrderIntended,
    OrderPlaced,
    PolicyAdopted,
    ProposalMade,
    RunArgs,
    RunEnded,
    RunSettled,
    RunStarted,
    StateHashed,
)
from shared.protocol.ids import DESK_BOOK
from shared.protocol.instants import compact
from shared.protocol.market import ProposedOrder, Side
from shared.protocol.money import Exact, Money
from shared.protocol.reasons import OrderEnd, RunStatus, StopReason
from tests.support.scribe import CLOSE, OPEN, POLICY, SESSION, SLOT
from tests.unit.gate.walk import observed

WAIT_S = 10
PRICES = {"AAA": "100", "BBB": "50"}
ORDERS = (
    ProposedOrder("AAA", "USD", "BUY", "10", "101"),
    ProposedOrder("BBB", "USD", "BUY", "1.5", "50"),
    ProposedOrder("ZZZZ", "USD", "BUY", "1", "10"),
)


class Rest:
    """Every author but the gate, in one session of two books."""

    def __init__(self, *books: str, log: Log | None = None, rpc: Rpc | None = None) -> None:
        self.books = books
        self.log, self.rpc = log or MemoryLog(), rpc or MemoryRpc()
        self._writers: dict[str, Participant[State]] = {}

    async def participant(self, author: str, instance: str) -> Participant[State]:
        """A process of `author`, folded to the end."""
        made = Participant(self.log, self.rpc, author=author, instance=instance, desk="test", state=State(), apply=apply)
        await made.start()
        return made

    async def write(self, author: str, book: str, about: str, data: EventData, run: str | None = None, k: int = 1) -> None:
        """Append as `author`, deciding again when the log has moved."""
        if author not in self._writers:
            self._writers[author] = await self.participant(author, f"1-{author}")
        writer = self._writers[author]
        event = None
        while event is None:
            await writer.catch_up()
            at = data.to if isinstance(data, ClockAdvanced) else writer.state.now or OPEN
            event = await writer.append(Draft(author, book, about, at, writer.cursor, data, run, None, k))

    async def clock(self, step: str, to: str, due: tuple[str, ...] = (), args: RunArgs | None = None) -> None:
        """Advance desk time."""
        await self.write("desk", DESK_BOOK, f"{DESK_BOOK}-{compact(to)}", ClockAdvanced(to, step, SESSION, due, args))

    async def open(self) -> None:
        """The opening step."""
        rows = tuple(BookArgs(book, "scripted", "", Exact(10000)) for book in self.books)
        await self.clock("open", OPEN, args=RunArgs("0" * 64, (SESSION,), rows, 0, "p"))
        await self.write("desk", DESK_BOOK, DESK_BOOK, PolicyAdopted(POLICY, (), "p", "first start"))
        for book in self.books:
            await self.write("desk", book, book, BookOpened("scripted", "USD"))
            await self.write("desk", book, book, CashDeposited(Exact(10000), "opening"))

    async def session(self) -> None:
        """One session from its slot to its hashes."""
        await self.clock("slot", SLOT, self.books)
        await self.play()
        await self.clock("close", CLOSE)
        await self.play()

    async def play(self) -> None:
        """Write what the others owe until nothing is owed any more."""
        watcher = await self.participant("journal", "1-watcher")
        try:
            while items := [item for item in owed(watcher.state) if not item.resting]:
                mine = next((item for item in items if item.author != "gate"), None)
                if mine is None:
                    await watcher.advance()
                    continue
                for data, about in self._events(watcher.state, mine):
                    await self.write(mine.author, mine.book, about, data, mine.run, mine.k)
                await watcher.catch_up()
        finally:
            await watcher.close()

    def _events(self, state: State, item: Owed) -> list[tuple[EventData, str]]:
        """The events that an item asks for, with what they are about."""
        if item.type == "OrderClosed":
            return _filled(state, item)
        made: dict[str, Callable[[], EventData]] = {
            "RunStarted": lambda: RunStarted("scripted", SLOT, SESSION, ("AAA:USD", "BBB:USD")),
            "AccountReconciled": lambda: AccountReconciled("DU1", {"USD": Exact(20000)}, {}, ()),
            "MarketObserved": lambda: observed(
                "watch" if item.run is None else "run" if item.k == 1 else "verdict", state.now or SLOT, PRICES
            ),
            "ProposalMade": lambda: ProposalMade("scripted", ORDERS, "", StopReason.SUBMITTED),
            "OrderIntended": lambda: _intended(_order(state, item)),
            "OrderPlaced": lambda: OrderPlaced(item.about, f"p-{item.about}", "done"),
            "RunSettled": lambda: RunSettled(0, 1, 0),
            "RunEnded": lambda: RunEnded(RunStatus.OK, ""),
            "StateHashed": lambda: StateHashed(SESSION, state_hash(state)),
        }
        return [(made[item.type](), item.about)]

    def events(self, author: str = "gate") -> list[Event]:
        """What one author wrote into the log in memory."""
        assert isinstance(self.log, MemoryLog)
        found = [read_event(stored.seq, stored.subject, stored.payload) for stored in self.log.stored]
        return [event for event in found if event.author == author]

    async def close(self) -> None:
        """End every process of the stage."""
        for writer in self._writers.values():
            await writer.close()


def _order(state: State, item: Owed) -> LedgerOrder:
    order = find_order(state, item.about)
    assert order is not None
    return order


def _intended(order: LedgerOrder) -> OrderIntended:
    return OrderIntended(order.id, order.symbol, "USD", "SMART", order.side, order.quantity, order.limit, order.id)


def _filled(state: State, item: Owed) -> list[tuple[EventData, str]]:
    """One fill at the limit for a fee of 1, then the order's end."""
    order = _order(state, item)
    assert order.side is Side.BUY
    effect = Exact(-(order.quantity * order.limit) - 1)
    fill = FillSettled(
        order.id,
        f"e-{order.id}",
        order.symbol,
        "USD",
        order.side,
        order.quantity,
        order.limit,
        Money(Exact(1), "USD"),
        Exact(1),
        effect,
    )
    return [(fill, f"e-{order.id}"), (OrderClosed(order.id, OrderEnd.FILLED, order.quantity, "filled"), order.id)]


class GateProcess:
    """A gate under test, as one process after another can be it."""

    def __init__(self, rest: Rest) -> None:
        self.rest = rest
        self._number = 0

    async def until(self, done: Callable[[], bool], rest: "asyncio.Future[None] | None" = None) -> None:
        """Run a new process until `done()` or until `rest` is over, then end it as a kill would."""
        self._number += 1
        participant = await self.rest.participant("gate", f"{self._number}-gate")
        if rest is not None:
            rest.add_done_callback(lambda _: participant.wake())
        try:
            async with asyncio.timeout(WAIT_S):
                while not done() and not (rest is not None and rest.done()):
                    await work(participant)
        finally:
            await participant.close()
