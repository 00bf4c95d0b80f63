"""Writes logs by hand for tests of what folds them: real envelopes, sequence numbers and links."""

from shared.ledger.dry import mode_of
from shared.ledger.fold import apply
from shared.ledger.periods import exchange_time_of
from shared.ledger.state import State
from shared.protocol.envelope import Draft, Event, read_event, seal
from shared.protocol.events import (
    BookArgs,
    BookOpened,
    BookValued,
    CashDeposited,
    ClockAdvanced,
    Data,
    Decision,
    FillSettled,
    MarketObserved,
    OrdersUsed,
    PolicyAdopted,
    RunArgs,
    RunStarted,
    Verdict,
)
from shared.protocol.ids import DESK_BOOK, prefix, run_id
from shared.protocol.instants import compact
from shared.protocol.market import Instrument, Side
from shared.protocol.money import Exact, Money
from shared.protocol.policy import Commission, Limits, Policy

OPEN, SLOT, CLOSE = (f"2022-10-03T{time}:00.000000Z" for time in ("13:30", "14:30", "20:00"))
SESSION = "2022-10-03"
USD = Commission("USD", Exact("0.005"), Exact(1), Exact(1))
UNIVERSE = tuple(Instrument(symbol, "SMART", "USD") for symbol in ("AAA", "BBB"))
POLICY = Policy("USD", Limits(month_timezone="America/New_York"), universe=UNIVERSE, commission=(USD,))


class Scribe:
    """A log in memory that folds as it is written."""

    def __init__(self) -> None:
        self.state = State()
        self.events: list[Event] = []
        self._last: dict[str, tuple[int, str]] = {}

    def write(
        self,
        author: str,
        data: Data,
        about: str,
        *,
        book: str = DESK_BOOK,
        run: str | None = None,
        k: int = 1,
        mode: str | None = None,
        cause: str | None = None,
    ) -> Event:
        """Append one event at desk time and fold it; without a mode in that of its run."""
        mode = mode_of(self.state, run) if mode is None else mode
        at = data.to if isinstance(data, ClockAdvanced) else self.state.now or OPEN
        draft = Draft(author, book, about, at, self.state.seq, data, run, cause, k, mode)  # type: ignore[arg-type]
        fence = prefix(author, book if author == "agent" else None)
        n, prev = self._last.get(fence, (0, None))
        payload = seal(draft, desk="test", instance="1-test", n=n + 1, prev=prev)
        event = read_event(self.state.seq + 1, draft.subject, payload)
        self._last[fence] = (n + 1, event.sha256)
        self.events.append(event)
        self.state = apply(self.state, event)
        return event

    def clock(
        self,
        step: str,
        to: str,
        due: tuple[str, ...] = (),
        args: RunArgs | None = None,
        session: str = SESSION,
        dry: tuple[str, ...] = (),
    ) -> Event:
        """Advance desk time."""
        return self.write("desk", ClockAdvanced(to, step, session, due, args, dry), f"{DESK_BOOK}-{compact(to)}")

    def open_desk(self, *books: str, deposit: str = "10000", policy: Policy = POLICY) -> "Scribe":
        """The opening step with these books."""
        rows = tuple(BookArgs(book, "scripted", "", Exact(deposit)) for book in books)
        self.clock("open", OPEN, args=RunArgs("0" * 64, (SESSION,), rows, 0, "p"))
        self.write("desk", PolicyAdopted(policy, (), "p", "first start"), DESK_BOOK)
        for book in books:
            self.write("desk", BookOpened("scripted", "USD"), book, book=book)
            self.write("desk", CashDeposited(Exact(deposit), "opening"), book, book=book)
        return self

    def start_run(self, book: str, names: tuple[str, ...] = ("AAA:USD",)) -> str:
        """A `RunStarted` of the slot."""
        clock = self.state.step.clock if self.state.step else None
        run = run_id(clock.session, exchange_time_of(clock.to), book) if clock else f"20221003T1030-{book}-1"
        mode = "dry" if clock and book in clock.dry else "sim"
        self.write("agent", RunStarted("scripted", SLOT, SESSION, names), run, book=book, run=run, mode=mode)
        return run

    def cause(self, book: str, seen: MarketObserved) -> str:
        """A run that the desk causes begins with this observation, the first of its kind in the minute of the slot; its id."""
        run = f"20221003T1030-{book}-{'k' if seen.purpose == 'liquidation' else 'a'}1"
        self.write("executor", seen, run, book=book, run=run)
        return run

    def approve(self, run: str, *orders: tuple[str, Side, str, str], kind: str = "proposal") -> tuple[str, ...]:
        """A verdict that approves (symbol, side, quantity, limit) orders; returns their ids."""
        ids = tuple(f"{run}-{index}" for index in range(1, len(orders) + 1))
        decisions = tuple(decision(index, order, ids[index - 1]) for index, order in enumerate(orders, 1))
        data = Verdict(kind, decisions, (), None, None, "p", "1", (), SLOT)
        self.write("gate", data, run, book=run.split("-")[1], run=run)
        return ids

    def fill(self, order: str, execution: str, symbol: str, side: Side, quantity: str, price: str, fee: str = "1") -> Event:
        """One execution in USD."""
        gross = Exact(quantity) * Exact(price)
        effect = Exact((gross if side is Side.SELL else -gross) - Exact(fee))
        run = order.rpartition("-")[0]
        data = FillSettled(
            order, execution, symbol, "USD", side, Exact(quantity), Exact(price), Money(Exact(fee), "USD"), Exact(1), effect
        )
        return self.write("executor", data, execution, book=run.split("-")[1], run=run)

    def value(self, book: str, value: str, *, peak: str = "10000", run: str | None = None, previous: str | None = None) -> Event:
        """A valuation of a run or, without one, of the close step."""
        data = BookValued(
            purpose="run" if run else "close",
            cash=self.state.books[book].cash,
            holdings=(),
            value=Exact(value),
            peak=Exact(peak),
            previous=None if previous is None else Exact(previous),
            drawdown_pct=None,
            used=OrdersUsed(0, 0),
            evidence=(),
            quoted="",
        )
        about = run or f"{book}-{compact(self.state.now or OPEN)}"
        return self.write("gate", data, about, book=book, run=run)


def decision(index: int, order: tuple[str, Side, str, str], order_id: str) -> Decision:
    """An approving decision."""
    symbol, side, quantity, limit = order
    amount = Exact(Exact(quantity) * Exact(limit))
    return Decision(
        index, symbol, "USD", side, Exact(quantity), Exact(limit), True, False, amount, Exact(1), Exact(1), (), None, order_id
    )
