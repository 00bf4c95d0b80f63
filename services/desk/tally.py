"""What the desk counts while it folds the log: results per book, what was blocked, what was cancelled. Pure."""

from collections.abc import Callable
from typing import Final, Self, TypeVar

import msgspec
from msgspec.structs import replace

from services.desk.held import Held
from shared.ledger import fold
from shared.ledger.books import known_value
from shared.ledger.periods import exchange_day_of
from shared.ledger.state import LIQUIDATION, State
from shared.protocol.envelope import Event
from shared.protocol.events import (
    AdjustmentBooked,
    BookValued,
    CashDeposited,
    CashWithdrawn,
    ClockAdvanced,
    EventData,
    FillSettled,
    OrderClosed,
    OrderWithheld,
    ReconciliationFailed,
    RunEnded,
    Verdict,
)
from shared.protocol.ids import about_of
from shared.protocol.market import instrument_key
from shared.protocol.money import ZERO, Exact, divide, wide_context
from shared.protocol.reasons import EXIT_OF

Value = TypeVar("Value")

MAX_REMEMBERED: Final = 5_000
MAX_MESSAGES: Final = 3
PERCENT: Final = Exact(100)
CLOSE: Final = "close"
"""The purpose of a valuation that counts for results."""

FAILED: Final = frozenset(status for status, code in EXIT_OF.items() if code)
"""How runs end that did not do what they were for; every other end is a decision."""


OPERATORS: Final = frozenset(
    {
        *(
            "CashDeposited",
            "CashWithdrawn",
            "BookClosed",
            "SourcePaused",
            "SourceResumed",
            "AccountBaselined",
            "AdjustmentBooked",
        ),
        *("HaltOrdered", "HaltReset", "FlattenOrdered", "ApprovalGiven", "ApprovalRefused", "CancelOrdered"),
        *("PolicyAdopted", "KeysAdopted"),
    }
)
"""Events of the desk that a request leads to, whose id names it."""


class Failures(msgspec.Struct, frozen=True):
    """Runs of one book that ended with one failed status, and their first different messages."""

    runs: int = 0
    messages: tuple[str, ...] = ()
    more: bool = False

    def with_one(self, message: str) -> Self:
        """With one more run."""
        if not message or message in self.messages:
            return replace(self, runs=self.runs + 1)
        if len(self.messages) >= MAX_MESSAGES:
            return replace(self, runs=self.runs + 1, more=True)
        return replace(self, runs=self.runs + 1, messages=(*self.messages, message))


class BookTally(msgspec.Struct, frozen=True):
    """One book's results so far. Orders are counted as decisions; `filled` are orders filled in whole or part.

    `value` is the last closing valuation, None if a held name had no price then; `high` the running maximum of opening deposit
    and closing values, in terms of the money in the book now; `drawdown_pct` the largest fall from it. `rules` counts why orders
    were blocked, each rule once per order; `failed` are the runs that failed, by status.
    """

    approved: int = 0
    blocked: int = 0
    filled: int = 0
    value: Exact | None = None
    high: Exact = ZERO
    drawdown_pct: Exact = ZERO
    rules: dict[str, int] = {}
    failed: dict[str, Failures] = {}

    def flowed(self, amount: Exact, value: Exact | None) -> Self:
        """With `amount` more money (less, if negative) in a book worth `value`: never profit or loss, hides no fall."""
        with wide_context():
            if not value or value <= 0:
                return replace(self, high=Exact(self.high + amount))
            return replace(self, high=divide(self.high * (value + amount), value))

    def judged(self, verdict: Verdict) -> Self:
        """With one more verdict. What a liquidation could not sell yet is no blocked order: it is tried again."""
        approved = sum(decision.approved for decision in verdict.decisions)
        if verdict.kind == LIQUIDATION:
            return replace(self, approved=self.approved + approved)
        rules = dict(self.rules)
        for decision in verdict.decisions:
            reasons = () if decision.approved else decision.reasons or verdict.block
            for rule in dict.fromkeys(reason.rule.value for reason in reasons):
                rules[rule] = rules.get(rule, 0) + 1
        return replace(
            self, approved=self.approved + approved, blocked=self.blocked + len(verdict.decisions) - approved, rules=rules
        )

    def closed_at(self, value: Exact | None) -> Self:
        """With a closing valuation."""
        if value is None:
            return replace(self, value=None)
        high = max(self.high, value)
        with wide_context():
            fall = divide((high - value) * PERCENT, high) if high > 0 else ZERO
        return replace(self, value=value, high=high, drawdown_pct=max(self.drawdown_pct, fall))


class Fill(msgspec.Struct, frozen=True):
    """The first fill of the run, for a person to see that something happens."""

    book: str
    data: FillSettled


class Carried(msgspec.Struct, frozen=True):
    """An operator's request that became an event: its sequence, book and data."""

    seq: int
    book: str
    data: EventData


class Tally(msgspec.Struct, frozen=True):
    """Counts over the whole log. `ended` says how orders ended and `requests` which operator requests were carried out, each for
    the newest `MAX_REMEMBERED`; `failure` is the newest failed reconciliation, `held` what was held when."""

    books: dict[str, BookTally] = {}
    first_fill: Fill | None = None
    ended: dict[str, str] = {}
    requests: dict[str, Carried] = {}
    held: Held = Held()
    failure: ReconciliationFailed | None = None
    first_clock: ClockAdvanced | None = None


class DeskState(msgspec.Struct, frozen=True):
    """What the desk folds the log to: the ledger that all services fold, and its own counts."""

    ledger: State = State()
    tally: Tally = Tally()


def apply(state: DeskState, event: Event) -> DeskState:
    """The state after `event`, which must be the next of the log. Of dry runs only those that failed are counted."""
    count = _COUNTS.get(event.type)
    counts = event.envelope.mode != "dry" or event.type == "RunEnded"
    tally = count(state, event) if count is not None and counts else state.tally
    if event.author == "desk" and event.type in OPERATORS:
        tally = _requested(tally, event)
    ledger = fold.apply(state.ledger, event)
    return DeskState(ledger, _held(tally, ledger, event) if event.type in _CHANGING_SHARES else tally)


def _clock_advanced(state: DeskState, event: Event) -> Tally:
    clock = event.expect(ClockAdvanced)
    return state.tally if state.tally.first_clock else replace(state.tally, first_clock=clock)


def _cash_deposited(state: DeskState, event: Event) -> Tally:
    return _flowed(state, event, event.expect(CashDeposited).amount)


def _cash_withdrawn(state: DeskState, event: Event) -> Tally:
    return _flowed(state, event, Exact(-event.expect(CashWithdrawn).amount))


def _flowed(state: DeskState, event: Event, amount: Exact) -> Tally:
    """With money that went into the event's book or out of it."""
    book = state.ledger.books.get(event.book)
    value = None if book is None else known_value(book)
    return _with_book(state.tally, event.book, _book(state, event).flowed(amount, book.cash if book and value is None else value))


def _verdict(state: DeskState, event: Event) -> Tally:
    return _with_book(state.tally, event.book, _book(state, event).judged(event.expect(Verdict)))


def _book_valued(state: DeskState, event: Event) -> Tally:
    data = event.expect(BookValued)
    if data.purpose != CLOSE:
        return state.tally
    return _with_book(state.tally, event.book, _book(state, event).closed_at(data.value))


def _fill_settled(state: DeskState, event: Event) -> Tally:
    fill = event.expect(FillSettled)
    tally = state.tally if state.tally.first_fill else replace(state.tally, first_fill=Fill(event.book, fill))
    order = fold.find_order(state.ledger, fill.order)
    if order is None or order.filled:
        return tally
    book = _book(state, event)
    return _with_book(tally, event.book, replace(book, filled=book.filled + 1))


def _order_closed(state: DeskState, event: Event) -> Tally:
    data = event.expect(OrderClosed)
    return replace(state.tally, ended=_newest({**state.tally.ended, data.order: data.end.value}))


def _order_withheld(state: DeskState, event: Event) -> Tally:
    data = event.expect(OrderWithheld)
    return replace(state.tally, ended=_newest({**state.tally.ended, data.order: f"withheld ({data.reason.value})"}))


def _run_ended(state: DeskState, event: Event) -> Tally:
    data = event.expect(RunEnded)
    if data.status not in FAILED:
        return state.tally
    book = _book(state, event)
    failures = book.failed.get(data.status.value, Failures()).with_one(data.message)
    return _with_book(state.tally, event.book, replace(book, failed={**book.failed, data.status.value: failures}))


def _requested(tally: Tally, event: Event) -> Tally:
    """With one more operator's request carried out; its id is what the event is about."""
    carried = Carried(event.seq, event.book, event.data)
    return replace(tally, requests=_newest({**tally.requests, about_of(event.id): carried}))


def _held(tally: Tally, after: State, event: Event) -> Tally:
    """With what books hold after a fill or an adjustment of shares."""
    day, held = exchange_day_of(event.at), tally.held
    match event.data:
        case FillSettled() as fill:
            changed = [(event.book, instrument_key(fill.symbol, fill.currency))]
        case AdjustmentBooked(symbol=str(symbol), currency=currency, shares=shares):
            changed = [(share.book, instrument_key(symbol, currency)) for share in shares if share.quantity is not None]
        case _:
            return tally
    for name, key in changed:
        if name in after.books:
            held = held.at(name, key, day, after.books[name].held(key))
    return replace(tally, held=held)


def _reconciliation_failed(state: DeskState, event: Event) -> Tally:
    return replace(state.tally, failure=event.expect(ReconciliationFailed))


def _newest(entries: dict[str, Value]) -> dict[str, Value]:
    """At most `MAX_REMEMBERED` entries, the newest ones."""
    return entries if len(entries) <= MAX_REMEMBERED else dict(list(entries.items())[-MAX_REMEMBERED // 2 :])


def _book(state: DeskState, event: Event) -> BookTally:
    """The counts of the event's book so far."""
    return state.tally.books.get(event.book, BookTally())


def _with_book(tally: Tally, name: str, book: BookTally) -> Tally:
    """Replace one book's counts."""
    return replace(tally, books={**tally.books, name: book})


_CHANGING_SHARES: Final = frozenset({"FillSettled", "AdjustmentBooked"})

_COUNTS: Final[dict[str, Callable[[DeskState, Event], Tally]]] = {
    "ClockAdvanced": _clock_advanced,
    "CashDeposited": _cash_deposited,
    "CashWithdrawn": _cash_withdrawn,
    "Verdict": _verdict,
    "BookValued": _book_valued,
    "FillSettled": _fill_settled,
    "OrderClosed": _order_closed,
    "OrderWithheld": _order_withheld,
    "RunEnded": _run_ended,
    "ReconciliationFailed": _reconciliation_failed,
}
