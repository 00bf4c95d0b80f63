"""Runs that the desk itself causes: liquidations and approvals. How they begin and end, and which ones are to begin. Pure."""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Final

from msgspec.structs import replace

from shared.ledger.account_state import Approval
from shared.ledger.books import with_book
from shared.ledger.parts import APPROVAL, CAUSED, LIQUIDATION, PROPOSAL, Counter, LedgerOrder, OrderState, Sale
from shared.ledger.periods import exchange_day_of, exchange_time_of
from shared.ledger.reservations import reserved_shares
from shared.ledger.state import Book, Run, State, Step
from shared.protocol.envelope import Event, sha256_hex
from shared.protocol.ids import run_id
from shared.protocol.instants import parse

LETTERS: Final = {LIQUIDATION: "k", APPROVAL: "a"}
MOST_IN_A_MINUTE: Final = 9


def caused_run(state: State, book: str, kind: str) -> str | None:
    """The id of the next run that the desk causes in a book at desk time; None after the ninth of a minute."""
    minute, letter = _minute(state.now or ""), LETTERS[kind]
    used = state.attempts.get(f"{book}-{letter}", Counter()).within(minute)
    day, _, time = minute.partition("T")
    return None if used >= MOST_IN_A_MINUTE else run_id(day, time, book, f"{letter}{used + 1}")


def _minute(at: str) -> str:
    """The minute of a time in the calendar's zone."""
    return f"{exchange_day_of(at)}T{exchange_time_of(at)}"


def begun(state: State, event: Event, run: str, kind: str) -> State:
    """The state after the observation with which a caused run begins."""
    book, step = state.books.get(event.book), state.step
    if book is None or step is None:
        return state
    approval = next((row for row in state.approvals.values() if row.given and row.given.id == event.envelope.cause), None)
    if kind == APPROVAL and approval is None:
        return state
    slot, session = step.clock.to, step.clock.session
    names = tuple(book.holdings)
    made = Run(run, event.book, "desk", slot, session, names, event, evidence=event, kind=kind, approval=approval)
    minute, name = _minute(event.at), f"{event.book}-{LETTERS[kind]}"
    counted = Counter(minute, state.attempts.get(name, Counter()).within(minute) + 1)
    state = replace(state, runs={**state.runs, run: made}, attempts={**state.attempts, name: counted})
    if approval is not None:
        state = replace(state, approvals={**state.approvals, approval.order: replace(approval, caused=run)})
    return with_book(state, replace(book, runs=(*book.runs, run)))


def ended(state: State, run: Run) -> State:
    """The state after the `RunSettled` of a caused run, which ends it."""
    state = replace(state, runs={name: other for name, other in state.runs.items() if name != run.id})
    book = state.books[run.book]
    counts = {**book.counts, run.kind: book.counts.get(run.kind, 0) + 1}
    digest = sha256_hex(f"{book.caused}{run.id}{run.kind}".encode())
    runs = tuple(name for name in book.runs if name != run.id)
    return with_book(state, replace(book, runs=runs, counts=counts, caused=digest))


def to_begin(state: State, step: Step) -> Iterator[tuple[str, str, str]]:
    """Runs that the desk is to cause now, as (run, book, kind): what is to be sold, then what was approved.

    One after another, as each is judged on what the one before left; and what a halt stops ends first.
    """
    if is_busy(state):
        return
    for book in state.books.values():
        run = caused_run(state, book.name, LIQUIDATION) if is_due(state, step, book) else None
        if run is not None:
            yield run, book.name, LIQUIDATION
    for name in state.books:
        run = caused_run(state, name, APPROVAL) if next_approval(state, name) is not None else None
        if run is not None:
            yield run, name, APPROVAL


def next_approval(state: State, book: str) -> Approval | None:
    """The oldest approved order of a book that is to be judged afresh."""
    own = (row for row in state.approvals.values() if row.book == book)
    return next((row for row in own if row.given is not None and row.caused is None), None)


def is_busy(state: State) -> bool:
    """Whether a caused run has no verdict yet or an order that is neither ended nor at rest, or an order is to be stopped."""
    for run in state.runs.values():
        orders = tuple(order for order in run.orders.values() if order.state.is_open)
        if any(order.halt is not None or is_overdue(state, run, order) for order in orders):
            return True
        if run.kind != PROPOSAL and (run.verdict is None or any(order.state is not OrderState.WORKING for order in orders)):
            return True
    return False


def is_due(state: State, step: Step, book: Book) -> bool:
    """Whether a book's holdings are to be sold now: something whole is left that no order at work sells, no attempt was made in
    this step, and the last one that sent anything is `watch_s` ago. Never at a close step, when every exchange has closed."""
    sale = book.sale
    if sale is None or not _may_try(state, step, sale):
        return False
    return any(sale.wants(key) and sellable(book, key) >= 1 for key in book.holdings)


def _may_try(state: State, step: Step, sale: Sale) -> bool:
    """Whether another attempt may begin in this step."""
    policy = state.policy
    if policy is None or step.clock.step == "close" or sale.looked == step.clock.to:
        return False
    watch = timedelta(seconds=policy.policy.limits.watch_s)
    return not sale.tried or parse(step.clock.to) - parse(sale.tried) >= watch


def is_overdue(state: State, run: Run, order: LedgerOrder) -> bool:
    """Whether a liquidation's order rests although another attempt may begin: it is cancelled, and what is left goes lower."""
    if run.kind != LIQUIDATION or order.state is not OrderState.WORKING or state.step is None:
        return False
    sale = state.books[order.book].sale
    return sale is not None and _may_try(state, state.step, sale)


def sellable(book: Book, key: str) -> Decimal:
    """Shares of an instrument that no order at work sells already."""
    return book.held(key) - reserved_shares(book, key)


def of_kind(purpose: str) -> bool:
    """Whether an observation of this purpose begins a caused run."""
    return purpose in CAUSED
