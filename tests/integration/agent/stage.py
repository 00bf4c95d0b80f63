"""The rest of the desk on a log in memory or on a server: whatever the executor, the gate and the desk owe is written by hand."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from services.agent.history_reader import HistoryReader
from services.agent.service import Agent
from shared.bus.memory import MemoryLog, MemoryRpc
from shared.bus.participant import Participant
from shared.bus.ports import Log, Rpc
from shared.ledger.dry import mode_of
from shared.ledger.fold import apply
from shared.ledger.owed import Owed, owed
from shared.ledger.state import State
from shared.protocol.envelope import Draft, Event, read_event
from shared.protocol.events import (
    AccountReconciled,
    BookArgs,
    BookOpened,
    BookValued,
    CashDeposited,
    ClockAdvanced,
    EventData,
    MarketObserved,
    OrdersUsed,
    PolicyAdopted,
    RunArgs,
    RunCleared,
    RunSettled,
    Verdict,
)
from shared.protocol.ids import DESK_BOOK
from shared.protocol.instants import compact
from shared.protocol.money import Exact
from tests.support.scribe import OPEN, POLICY, SESSION, SLOT
from tests.unit.agent.walk import PRICES, SESSIONS, market

WAIT_S = 10
PAUSE_S = 0.001


class Stage:
    """Writes as executor, gate and desk into one log that the agent under test shares."""

    def __init__(
        self, *kinds: str, argument: str = "", log: Log | None = None, rpc: Rpc | None = None, dry: tuple[str, ...] = ()
    ) -> None:
        self.kinds, self.argument, self.dry = kinds, argument, dry
        self.log, self.rpc = log or MemoryLog(), rpc or MemoryRpc()
        self.asked: list[dict[str, object]] = []
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
        at = data.to if isinstance(data, ClockAdvanced) else SLOT
        event = None
        while event is None:
            await writer.catch_up()
            mode = mode_of(writer.state, run)
            event = await writer.append(Draft(author, book, about, at, writer.cursor, data, run, None, k, mode))

    async def open(self) -> None:
        """The opening step and the slot of the first session."""
        books = tuple(BookArgs(kind, kind, self.argument, Exact(10000)) for kind in self.kinds)
        args = RunArgs("0" * 64, SESSIONS, books, 0, "p")
        await self._clock(ClockAdvanced(OPEN, "open", SESSION, (), args))
        await self.write("desk", DESK_BOOK, DESK_BOOK, PolicyAdopted(POLICY, (), "p", "first start"))
        for kind in self.kinds:
            await self.write("desk", kind, kind, BookOpened(kind, "USD"))
            await self.write("desk", kind, kind, CashDeposited(Exact(10000), "opening"))
        await self._clock(ClockAdvanced(SLOT, "slot", SESSION, self.kinds, dry=self.dry))

    async def _clock(self, clock: ClockAdvanced) -> None:
        await self.write("desk", DESK_BOOK, f"{DESK_BOOK}-{compact(clock.to)}", clock)

    async def play(self) -> None:
        """Write what the others owe until nothing is owed any more."""
        watcher = await self.participant("journal", "1-watcher")
        try:
            while items := owed(watcher.state):
                item = items[0]
                if item.author == "agent":
                    await watcher.advance()
                else:
                    await self.write(item.author, item.book, item.about, _data(item), item.run, item.k)
                    await watcher.catch_up()
        finally:
            await watcher.close()

    async def answer_history(self, bars: dict[str, list[tuple[str, str]]]) -> None:
        """Let the executor answer with these closes."""

        async def answer(payload: bytes) -> bytes:
            self.asked.append(json.loads(payload))
            rows = {symbol: [{"date": day, "close": close} for day, close in closes] for symbol, closes in bars.items()}
            return json.dumps({"session": SESSION, "bars": rows}).encode()

        await self.rpc.serve("rpc.executor.history", answer)

    def events(self, author: str = "agent") -> list[Event]:
        """What one author wrote into the log in memory."""
        assert isinstance(self.log, MemoryLog)
        found = [read_event(stored.seq, stored.subject, stored.payload) for stored in self.log.stored]
        return [event for event in found if event.author == author]

    async def close(self) -> None:
        """End every process of the stage."""
        for writer in self._writers.values():
            await writer.close()


def _data(item: Owed) -> EventData:
    """The event that an item of another author asks for."""
    made: dict[str, Callable[[], EventData]] = {
        "AccountReconciled": lambda: AccountReconciled("DU1", {"USD": Exact(20000)}, {}, ()),
        "MarketObserved": lambda: _observed(item),
        "BookValued": lambda: BookValued(
            "run", Exact(10000), (), Exact(10000), Exact(10000), None, Exact(0), OrdersUsed(0, 0), (), ""
        ),
        "RunCleared": lambda: RunCleared(Exact(10000)),
        "Verdict": lambda: Verdict("proposal", (), (), Exact(10000), Exact(0), "p", "1", (), SLOT),
        "RunSettled": lambda: RunSettled(0, 0, 0),
    }
    return made[item.type]()


def _observed(item: Owed) -> MarketObserved:
    return market("run" if item.k == 1 else "verdict", PRICES)


class AgentProcess:
    """An agent under test, as one process after another can be it."""

    def __init__(self, stage: Stage, data_dir: Path) -> None:
        self.stage, self.data_dir = stage, data_dir
        self._number = 0

    async def until(self, done: Callable[[], bool], play: Awaitable[None] | None = None) -> None:
        """Run a new process until `done()`, beside `play`, then end it as a kill would."""
        self._number += 1
        participant = await self.stage.participant("agent", f"{self._number}-agent")
        history = HistoryReader(participant.rpc, participant.wake, timeout_s=1, pause_s=PAUSE_S)
        agent = Agent(participant, history, self.data_dir)

        async def work() -> None:
            while not done():
                await agent.work()

        others = [asyncio.ensure_future(play)] if play is not None else []
        try:
            async with asyncio.timeout(WAIT_S):
                await asyncio.gather(work(), *others)
        finally:
            for other in others:
                other.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            await history.close()
            await participant.close()
