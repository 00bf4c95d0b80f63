"""The rest of the desk, written by hand: whatever desk, agent and gate owe, on a real log beside a real simulator.

Every proposed order is approved; the prices are chosen so that orders fill at once, rest, fill in part or fill at the close.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from shared.bus.jetstream import Connection
from shared.bus.participant import Participant
from shared.bus.ports import NoResponder
from shared.ledger.fold import apply
from shared.ledger.hashing import state_hash
from shared.ledger.owed import Owed, is_quiet, owed
from shared.ledger.state import State
from shared.protocol.envelope import Draft, Event, read_event
from shared.protocol.events import (
    BookArgs,
    BookOpened,
    BookValued,
    CashDeposited,
    ClockAdvanced,
    Decision,
    EventData,
    OrdersUsed,
    PolicyAdopted,
    ProposalMade,
    RunArgs,
    RunCleared,
    RunEnded,
    RunStarted,
    StateHashed,
    Verdict,
)
from shared.protocol.ids import DESK_BOOK, order_id
from shared.protocol.instants import compact
from shared.protocol.market import Instrument, ProposedOrder, Side
from shared.protocol.money import Exact
from shared.protocol.policy import Commission, Limits, Policy
from shared.protocol.reasons import RunStatus, StopReason
from tests.integration.simulator.client import Client

ROWS: Final = """date,symbol,open,high,low,close,volume
2022-10-03,A,98,101,97,100,
2022-10-03,B,,,,20,
2022-10-03,V,10,10,10,10,1000
2022-10-04,A,50,52,49,51,
2022-10-04,B,,,,19.555,
2022-10-04,V,10,11,9,10,1000
2022-10-05,A,51,53,50,52,
2022-10-05,B,,,,21,
2022-10-05,V,10,11,9,10,1000
"""
DAYS: Final = ("2022-10-04", "2022-10-05")
OPEN: Final = f"{DAYS[0]}T13:30:00.000000Z"
SLOT, CLOSE = f"{DAYS[0]}T14:30:00.000000Z", f"{DAYS[0]}T20:00:00.000000Z"
NEXT_SLOT, NEXT_CLOSE = f"{DAYS[1]}T14:30:00.000000Z", f"{DAYS[1]}T20:00:00.000000Z"
NAMES: Final = ("A:USD", "B:USD", "V:USD")
RUN, NEXT_RUN = "20221004T1030-eq-1", "20221005T1030-eq-1"
POLICY: Final = Policy(
    "USD",
    Limits(month_timezone="America/New_York"),
    universe=tuple(Instrument(symbol, "SMART", "USD") for symbol in "ABV"),
    commission=(Commission("USD", Exact("0.005"), Exact(1), Exact(1)),),
)
WAIT_S: Final = 180
LOOK_S: Final = 0.005
ASK_S: Final = 20.0

Wanted = tuple[str, str, str, str]


class Rest:
    """Desk, agent and gate of one book or several; `script` holds the orders that a run proposes."""

    def __init__(self, connection: Connection, client: Client, script: Mapping[str, tuple[Wanted, ...]], *books: str) -> None:
        self.connection, self.client, self.script, self.books = connection, client, script, books or ("eq",)
        self._writers: dict[str, Participant[State]] = {}
        self._reader: Participant[State] | None = None

    async def reader(self) -> Participant[State]:
        """A process that only reads."""
        if self._reader is None:
            self._reader = await self.participant("journal", "1-reader")
        return self._reader

    async def participant(self, author: str, instance: str) -> Participant[State]:
        """A process of `author`, folded to the end."""
        rpc = self.connection.rpc
        made = Participant(self.connection.log, rpc, author=author, instance=instance, desk="test", state=State(), apply=apply)
        await made.start()
        return made

    async def write(self, author: str, book: str, about: str, data: EventData, run: str | None = None, k: int = 1) -> Event:
        """Append as `author`, deciding again when the log has moved."""
        if author not in self._writers:
            self._writers[author] = await self.participant(author, f"1-{author}")
        writer, event = self._writers[author], None
        while event is None:
            await writer.catch_up()
            at = data.to if isinstance(data, ClockAdvanced) else writer.state.now or OPEN
            event = await writer.append(Draft(author, book, about, at, writer.cursor, data, run, None, k))
        return event

    async def open(self) -> None:
        """The first event of the log."""
        await self.clock("open", OPEN, DAYS[0])

    async def clock(self, step: str, to: str, day: str) -> None:
        """Clock first, then the broker."""
        await self.clock_log(step, to, day)
        self.advance_broker(step, to, day)

    async def clock_log(self, step: str, to: str, day: str) -> None:
        """The clock alone, as if the desk died before it told the broker."""
        books = tuple(BookArgs(book, "hand", "", Exact(10000)) for book in self.books)
        args = RunArgs("0" * 64, DAYS, books, 0, "p") if step == "open" else None
        due = self.books if step == "slot" else ()
        await self.write("desk", DESK_BOOK, f"{DESK_BOOK}-{compact(to)}", ClockAdvanced(to, step, day, due, args))

    async def ask(self, subject: str, **body: object) -> dict[str, Any]:
        """One request to the executor, waiting until there is one that answers."""
        async with asyncio.timeout(WAIT_S):
            while True:
                try:
                    answer: dict[str, Any] = json.loads(
                        await self.connection.rpc.request(subject, json.dumps(body).encode(), ASK_S)
                    )
                    return answer
                except NoResponder:
                    await asyncio.sleep(LOOK_S)

    def advance_broker(self, step: str, to: str, day: str) -> None:
        """Move the simulator's time alone."""
        assert self.client.ask("advance", to=to, step=step, session=day)["ok"]

    async def until(self, done: Callable[[State], bool], playing: bool = True) -> State:
        """Write what desk, agent and gate owe until `done` holds of the folded log; the executor is another process."""
        reader = await self.reader()
        async with asyncio.timeout(WAIT_S):
            while True:
                await reader.catch_up()
                if done(reader.state):
                    return reader.state
                item = next((item for item in owed(reader.state) if not item.resting), None) if playing else None
                if item is None or item.author == "executor":
                    await reader.advance(LOOK_S)
                else:
                    await self.write(item.author, item.book, item.about, self.data(item, reader.state), item.run, item.k)

    async def quiet(self) -> State:
        """Play until nothing is owed but the ends of resting orders."""
        return await self.until(lambda state: state.now is not None and is_quiet(owed(state)))

    async def play(self) -> State:
        """Both sessions from the first event to the last."""
        await self.open()
        for to, step, day in (
            (SLOT, "slot", DAYS[0]),
            (CLOSE, "close", DAYS[0]),
            (NEXT_SLOT, "slot", DAYS[1]),
            (NEXT_CLOSE, "close", DAYS[1]),
        ):
            await self.quiet()
            await self.clock(step, to, day)
        return await self.quiet()

    async def up_to_verdict(self) -> None:
        """Open the desk and play the first slot until only the verdict of the first run is owed."""
        await self.open()
        await self.quiet()
        await self.clock("slot", SLOT, DAYS[0])
        await self.until(lambda state: any(item.type == "Verdict" for item in owed(state)))

    def data(self, item: Owed, state: State) -> EventData:
        """The event that an item asks for."""
        made: dict[str, Callable[[], EventData]] = {
            "PolicyAdopted": lambda: PolicyAdopted(POLICY, (), "p", "first start"),
            "BookOpened": lambda: BookOpened("hand", "USD"),
            "CashDeposited": lambda: CashDeposited(Exact(10000), "opening"),
            "RunStarted": lambda: RunStarted("hand", state.now or "", state.step.clock.session if state.step else "", NAMES),
            "BookValued": lambda: self._valued(item, state),
            "RunCleared": lambda: RunCleared(Exact(10000)),
            "ProposalMade": lambda: self._proposal(item.run or ""),
            "Verdict": lambda: self._verdict(item.run or "", state.now or "", state.runs[item.run or ""].kind),
            "RunEnded": lambda: RunEnded(RunStatus.OK, ""),
            "StateHashed": lambda: StateHashed(item.about, state_hash(state)),
        }
        return made[item.type]()

    def _valued(self, item: Owed, state: State) -> BookValued:
        cash = state.books[item.book].cash
        purpose = "run" if item.run else "close"
        return BookValued(purpose, cash, (), cash, Exact(10000), None, Exact(0), OrdersUsed(0, 0), (), "")

    def _proposal(self, run: str) -> ProposalMade:
        wanted = self.script.get(run, ())
        orders = tuple(ProposedOrder(symbol, "USD", side, quantity, limit) for symbol, side, quantity, limit in wanted)
        return ProposalMade("hand", orders, "", StopReason.SUBMITTED)

    def _verdict(self, run: str, now: str, kind: str) -> Verdict:
        wanted = enumerate(self.script.get(run, ()), 1)
        decisions = tuple(approving(index, row, order_id(run, index)) for index, row in wanted)
        return Verdict(kind, decisions, (), None, None, "p", "1", (), now)

    async def events(self) -> list[Event]:
        """The whole log."""
        log = self.connection.log
        stored = [await log.get(seq) for seq in range(1, await log.last_seq() + 1)]
        return [read_event(one.seq, one.subject, one.payload) for one in stored if one is not None]

    async def close(self) -> None:
        """End all hand-made processes."""
        for one in (*self._writers.values(), *([self._reader] if self._reader else [])):
            await one.close()


def approving(index: int, wanted: Wanted, order: str) -> Decision:
    """An approving decision."""
    symbol, side, quantity, limit = wanted
    amount = Exact(Exact(quantity) * Exact(limit))
    return Decision(
        index, symbol, "USD", Side(side), Exact(quantity), Exact(limit), True, False, amount, Exact(1), Exact(1), (), None, order
    )


def facts(events: list[Event]) -> set[tuple[str, str, bytes]]:
    """(id, at, data) of every event: what must be equal in every run."""
    return {(event.id, event.at, bytes(event.envelope.data)) for event in events}
