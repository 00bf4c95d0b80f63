"""A log as the desk writes it, made here event by event: for tests of the journal that need no process and no server."""

from collections.abc import Iterator
from datetime import date, timedelta

from services.journal.hashes import next_draft
from shared.bus.keyring import Signer
from shared.bus.ports import Append, Log, Stored
from shared.ledger.fold import apply
from shared.ledger.hashing import state_hash
from shared.ledger.periods import exchange_time_of
from shared.ledger.state import State
from shared.protocol.envelope import Draft, Event, read_event, seal, sha256_hex
from shared.protocol.events import (
    AccountReconciled,
    BookOpened,
    BookValued,
    CashDeposited,
    ClockAdvanced,
    Decision,
    EventData,
    FillSettled,
    HoldingValued,
    KeysAdopted,
    MarketObserved,
    OrderClosed,
    OrderIntended,
    OrderPlaced,
    OrdersUsed,
    PolicyAdopted,
    ProposalMade,
    Reason,
    RunCleared,
    RunEnded,
    RunSettled,
    RunStarted,
    StateHashed,
    Verdict,
)
from shared.protocol.ids import DESK_BOOK, prefix, run_id
from shared.protocol.market import ExchangeSession, Instrument, ProposedOrder, Quote, QuoteKind, Side
from shared.protocol.money import Exact, Money
from shared.protocol.policy import Policy
from shared.protocol.reasons import OrderEnd, Rule, RunStatus, StopReason

FIRST_DAY = date(2026, 1, 5)
NAMES = ("AAA", "NA", "TRUE", "NULL", "007", "BBB", "CCC", "DDD", "EEE", "FFF")
BOOKS = ("alpha", "beta", "breaker")


class DeskLog:
    """Grows by `write`; `stored` are the messages, `events` the same read back."""

    def __init__(
        self,
        instance: str = "1-aaaaaaaa",
        journal: bool = True,
        *,
        keys: KeysAdopted | None = None,
        signer: Signer | None = None,
    ) -> None:
        """An empty log, written by processes of this instance name; `journal` says whether its hashes are there too.

        `signer` signs every event with a key of `keys`, which stand behind the first one.
        """
        self.stored: list[Stored] = []
        self._keys, self._signer = keys, signer
        self.state = State()
        self._journal = journal
        self._instance = instance
        self._last: dict[str, tuple[int, str | None]] = {}

    @property
    def events(self) -> list[Event]:
        """Everything, decoded anew."""
        return [read_event(message.seq, message.subject, message.payload) for message in self.stored]

    def write(
        self,
        author: str,
        book: str,
        about: str,
        at: str,
        data: EventData,
        *,
        run: str | None = None,
        k: int = 1,
        mode: str = "sim",
    ) -> Event:
        """Append one event with its writer's counter and link."""
        draft = Draft(author=author, book=book, about=about, at=at, as_of=len(self.stored), data=data, run=run, k=k, mode=mode)
        prefix = f"{author}.{book}" if author == "agent" else author
        n, prev = self._last.get(prefix, (0, None))
        payload = self._sealed(draft, n + 1, prev)
        self._last[prefix] = (n + 1, sha256_hex(payload))
        self.stored.append(Stored(len(self.stored) + 1, draft.subject, draft.id, payload))
        return read_event(len(self.stored), draft.subject, payload)

    def _sealed(self, draft: Draft, n: int, prev: str | None) -> bytes:
        """The payload, signed if there are keys."""
        signer = self._signer
        sign = None if signer is None else lambda payload: signer.sign(draft, payload)
        return seal(draft, desk="desk", instance=self._instance, n=n, prev=prev, sign=sign)

    def fold(self) -> None:
        """Bring `state` to the end of the log."""
        for message in self.stored[self.state.seq :]:
            self.state = apply(self.state, read_event(message.seq, message.subject, message.payload))

    def open_desk(self) -> None:
        """The clock's first step, the keys if there are any, the policy, and three books of 10,000 USD."""
        at = moment(0, "14:30")
        self.write("desk", DESK_BOOK, f"{DESK_BOOK}-open", at, ClockAdvanced(at, "open", day(0)))
        if self._keys is not None:
            self.write("desk", DESK_BOOK, DESK_BOOK, at, self._keys)
        universe = tuple(Instrument(name, "SMART", "USD") for name in NAMES)
        policy = PolicyAdopted(Policy("USD", universe=universe), (), "0" * 64, "test")
        self.write("desk", DESK_BOOK, DESK_BOOK, at, policy)
        for book in BOOKS:
            self.write("desk", book, book, at, BookOpened("scripted", "USD"))
            self.write("desk", book, book, at, CashDeposited(Exact(10_000), "opening"))

    def session(self, index: int, orders: int = 3) -> None:
        """One session: in each book a run that buys one share of some names and has one order blocked; then the close."""
        at, close = moment(index, "15:30"), moment(index, "21:00")
        self.write("desk", DESK_BOOK, f"{DESK_BOOK}-{day(index)}-slot", at, ClockAdvanced(at, "slot", day(index), BOOKS))
        for book in BOOKS:
            self.run(index, book, at, orders)
        self.write("desk", DESK_BOOK, f"{DESK_BOOK}-{day(index)}-close", close, ClockAdvanced(close, "close", day(index)))
        self.write("executor", DESK_BOOK, f"{DESK_BOOK}-{day(index)}", close, observed("watch", close, index))
        for book in BOOKS:
            self.write("gate", book, f"{book}-{day(index)}", close, valued("close", index))
        self.fold()
        found = state_hash(self.state)
        for author in ("gate", "executor"):
            self.write(author, DESK_BOOK, day(index), close, StateHashed(day(index), found))
        self.fold()
        while self._journal and (draft := next_draft(self.state)) is not None:
            self.write(draft.author, draft.book, draft.about, draft.at, draft.data)
            self.fold()

    def run(self, index: int, book: str, at: str, orders: int) -> None:
        """One run from its start to its end."""
        run = run_id(day(index), exchange_time_of(at), book)
        self.write("agent", book, run, at, RunStarted("scripted", at, day(index), tuple(f"{n}:USD" for n in NAMES)), run=run)
        reconciled = AccountReconciled("DU1234567", {"USD": Exact(1_000_000)}, {}, ())
        self.write("executor", book, run, at, reconciled, run=run)
        self.write("executor", book, run, at, observed("run", at, index), run=run)
        self.write("gate", book, run, at, valued("run", index), run=run)
        self.write("gate", book, run, at, RunCleared(Exact(10_000)), run=run)
        names = [NAMES[(index + n) % len(NAMES)] for n in range(orders)]
        proposed = tuple(ProposedOrder(name, "USD", "BUY", "1", "100.5", f"likes {name}") for name in [*names, "ZZZZ"])
        self.write("agent", book, run, at, ProposalMade("scripted", proposed, "buy", StopReason.SUBMITTED), run=run)
        self.write("executor", book, run, at, observed("verdict", at, index), run=run, k=2)
        self.write("gate", book, run, at, verdict(run, names, at), run=run)
        for position, name in enumerate(names, start=1):
            self.order(index, book, run, at, position, name)
        self.write("executor", book, run, at, RunSettled(0, orders, 0), run=run)
        self.write("agent", book, run, at, RunEnded(RunStatus.OK, ""), run=run)

    def order(self, index: int, book: str, run: str, at: str, position: int, name: str) -> None:
        """One order that fills in two executions."""
        order = f"{run}-{position}"
        intended = OrderIntended(order, name, "USD", "SMART", Side.BUY, Exact(1), Exact("100.5"), order)
        self.write("executor", book, order, at, intended, run=run)
        self.write("executor", book, order, at, OrderPlaced(order, f"{len(self.stored)}", "done"), run=run)
        for part, quantity in enumerate((Exact("0.25"), Exact("0.75")), start=1):
            execution = f"0001.{index}.{book}.{position}.{part}"
            effect = Exact(-(quantity * 100 + Exact("0.5")))
            fee = Money(Exact("0.5"), "USD")
            fill = FillSettled(order, execution, name, "USD", Side.BUY, quantity, Exact(100), fee, Exact(1), effect)
            self.write("executor", book, execution.replace(".", "_"), at, fill, run=run)
        self.write("executor", book, order, at, OrderClosed(order, OrderEnd.FILLED, Exact(1), "Filled"), run=run)


def desk_log(sessions: int, orders: int = 3, instance: str = "1-aaaaaaaa", *, journal: bool = True) -> DeskLog:
    """A desk that has traded for so many sessions."""
    log = DeskLog(instance, journal)
    log.open_desk()
    for index in range(sessions):
        log.session(index, orders)
    return log


def day(index: int) -> str:
    """The session with this index."""
    return (FIRST_DAY + timedelta(days=index)).isoformat()


def moment(index: int, time: str) -> str:
    """A UTC time of that session."""
    return f"{day(index)}T{time}:00.000000Z"


def quotes(at: str, index: int) -> Iterator[Quote]:
    """A price for every name."""
    for position, name in enumerate(NAMES):
        last = Exact(100 + position) + index % 7
        yield Quote(
            name, "USD", QuoteKind.SIM, at, Exact(last - Exact("0.02")), Exact(last + Exact("0.02")), Exact(last), Exact(last)
        )


def observed(purpose: str, at: str, index: int) -> MarketObserved:
    """All names, one exchange."""
    session = ExchangeSession(True, day(index), moment(index, "14:30"), moment(index, "21:00"))
    ticks = {f"{name}:USD": Exact("0.01") for name in NAMES}
    return MarketObserved(purpose, tuple(quotes(at, index)), ticks, {"USD": Exact(1)}, {"SMART": session})


def valued(purpose: str, index: int) -> BookValued:
    """A book that holds a little of everything."""
    holdings = tuple(HoldingValued(name, "USD", Exact(1), Exact(100), Exact(100)) for name in NAMES)
    value = Exact(10_000 + index)
    used = OrdersUsed(3, 3)
    return BookValued(
        purpose, Exact(9_000), holdings, value, value, None, Exact(0), used, ("executor:MarketObserved:x",), day(index)
    )


def verdict(run: str, names: list[str], at: str) -> Verdict:
    """Every named order approved, one more of an unknown instrument blocked for two reasons."""
    decisions = [
        Decision(
            index=position,
            symbol=name,
            currency="USD",
            side="BUY",
            quantity=Exact(1),
            limit=Exact("100.5"),
            approved=True,
            needs_approval=False,
            notional=Exact("100.5"),
            commission=Exact(1),
            fx=Exact(1),
            reasons=(),
            largest=None,
            order=f"{run}-{position}",
        )
        for position, name in enumerate(names, start=1)
    ]
    reasons = (
        Reason(Rule.INSTRUMENT, None, None, None, "ZZZZ:USD is not in the universe"),
        Reason(Rule.QUOTE, None, None, None, "no price"),
    )
    blocked = Decision(
        len(names) + 1, "ZZZZ", "USD", "BUY", Exact(1), Exact(10), False, False, None, None, None, reasons, Exact(0)
    )
    return Verdict(
        "proposal", (*decisions, blocked), (), Exact(10_000), Exact(0), "0" * 64, "1", ("executor:MarketObserved:x",), at
    )


async def pour(log: Log, messages: list[Stored]) -> None:
    """Append messages to a real log one after another, each with its writer's fence, so that they get the same sequences."""
    fences: dict[str, int] = {}
    for message in messages:
        _, author, book, _ = message.subject.split(".")
        fence = prefix(author, book if author == "agent" else None)
        expected = fences.get(fence, 0) or await _last(log, fence)
        appended = Append(message.subject, message.msg_id, message.payload, fence, expected)
        fences[fence] = await log.append(appended)


async def _last(log: Log, fence: str) -> int:
    """The last sequence under a fence."""
    last = await log.last_under(fence)
    return last.seq if last else 0
