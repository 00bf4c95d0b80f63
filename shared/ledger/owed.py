"""What is still to do, read off the folded state.

The only list of its kind: services take their work from it, and a step of desk time is over (quiet) when nothing is owed but
the ends of orders that rest at the broker and the hashes of the journal.
"""

from collections.abc import Iterator

import msgspec

from shared.ledger.caused import is_busy, is_overdue, to_begin
from shared.ledger.marks import HASHING_AUTHORS, JOURNAL, unvalued
from shared.ledger.periods import exchange_time_of
from shared.ledger.state import PROPOSAL, LedgerOrder, OrderState, Run, State, Step
from shared.ledger.trips import trip_of
from shared.protocol.events import BookArgs
from shared.protocol.ids import DESK_BOOK, run_id
from shared.protocol.instants import compact
from shared.protocol.market import Side


class Owed(msgspec.Struct, frozen=True):
    """One event that is still owed: who owes it, its type, what it is about, and which of its kind (`k`) it is.

    `resting`: may stay outstanding when a step is over: the end of an order that rests at the broker, a hash of the journal.
    """

    author: str
    type: str
    about: str
    book: str
    run: str | None = None
    k: int = 1
    resting: bool = False


def owed(state: State) -> tuple[Owed, ...]:
    """Everything still owed, in the order in which to do it; nothing before the first clock event or after a lost log."""
    step = state.step
    if step is None or state.problem is not None:
        return ()
    return (*_of_step(state, step), *_of_journal(state, step))


def _of_step(state: State, step: Step) -> tuple[Owed, ...]:
    """What the step of desk time lacks."""
    opening = tuple(_opening(state))
    if opening:
        return opening
    runs = (*_awaited(state), *(item for run in state.runs.values() for item in _run(state, step, run)))
    looking = () if runs and step.clock.step == "close" else tuple(_looking(state, step))
    trips = tuple(_trips(state, step))
    caused = () if looking or trips else tuple(_caused(state, step))
    items = (*runs, *looking, *trips, *caused)
    if step.clock.step == "slot" and not trips and not caused and not is_busy(state):
        return (*items, *_next_start(state, step))
    if step.clock.step == "close" and not items:
        return tuple(_hashes(step))
    return items


def _trips(state: State, step: Step) -> Iterator[Owed]:
    """Halts that the gate is to trip and that no run awaits."""
    live = (run for run in state.runs.values() if not run.dry)
    of_runs = {run.book for run in live if run.valued is not None and run.cleared is None and run.stopped is None}
    for name in state.books:
        if name not in of_runs and _must_trip(state, name):
            about = f"{name}-{compact(step.clock.to)}"
            yield Owed("gate", "HaltTripped", about, name, k=step.tripped.count(name) + 1)


def _must_trip(state: State, name: str) -> bool:
    """Whether the newest valuation of a book, if there is such a book, asks for a halt."""
    book = state.books.get(name)
    return book is not None and state.policy is not None and trip_of(state.policy.policy, book) is not None


def _caused(state: State, step: Step) -> Iterator[Owed]:
    """The observations with which runs begin that the desk is to cause."""
    for run, book, _ in to_begin(state, step):
        yield Owed("executor", "MarketObserved", run, book, run)


def is_quiet(items: tuple[Owed, ...]) -> bool:
    """Whether desk time may go on."""
    return all(item.resting for item in items)


def next_of(items: tuple[Owed, ...], author: str, *, resting: bool = False) -> Owed | None:
    """The next piece of work of one author, with `resting` also one that nobody waits for."""
    return next((item for item in items if item.author == author and (resting or not item.resting)), None)


def _opening(state: State) -> Iterator[Owed]:
    """Keys, policy and books that the run's arguments name and the log lacks."""
    if state.args is None:
        return
    if state.signed and state.keys is None:
        yield Owed("desk", "KeysAdopted", DESK_BOOK, DESK_BOOK)
    if state.policy is None:
        yield Owed("desk", "PolicyAdopted", DESK_BOOK, DESK_BOOK)
    for book in state.args.books:
        yield from _opening_of(state, book)


def _opening_of(state: State, wanted: BookArgs) -> Iterator[Owed]:
    """One book's opening events."""
    book = state.books.get(wanted.book)
    if book is None:
        yield Owed("desk", "BookOpened", wanted.book, wanted.book)
    if wanted.deposit and (book is None or not book.deposited):
        yield Owed("desk", "CashDeposited", wanted.book, wanted.book)


def _awaited(state: State) -> Iterator[Owed]:
    """Another look at the account once an order has ended that explained a difference."""
    for order in state.account.pending:
        if not any(order in book.orders for book in state.books.values()):
            yield Owed("executor", "AccountReconciled", order, DESK_BOOK)
            return


def _next_start(state: State, step: Step) -> Iterator[Owed]:
    """The start of the next due book's run, once the run before has ended or has its orders at the broker."""
    for book in step.clock.due:
        run = run_id(step.clock.session, exchange_time_of(step.clock.to), book)
        if run not in step.started:
            yield Owed("agent", "RunStarted", run, book, run)
            return
        if run in state.runs and not _moved_on(state.runs[run]):
            return


def _moved_on(run: Run) -> bool:
    """Whether a run has a verdict whose approved orders are all withheld, closed or placed."""
    waiting = {OrderState.APPROVED, OrderState.INTENDED}
    return run.verdict is not None and not any(order.state in waiting for order in run.orders.values())


def _run(state: State, step: Step, run: Run) -> Iterator[Owed]:
    """What a run that has not ended still lacks: its next stage, or its orders and its end."""
    if run.verdict is not None:
        yield from _orders(state, step, run)
        return
    author, kind, k = _next_stage(state, run)
    yield Owed(author, kind, run.id, run.book, run.id, k)


def _next_stage(state: State, run: Run) -> tuple[str, str, int]:
    """Author, type and count of the event that a run without a verdict lacks next."""
    if run.kind != PROPOSAL:
        return "gate", "Verdict", 1
    if run.stopped is not None or run.failed is not None:
        return "agent", "RunEnded", 1
    if run.valued is not None and run.cleared is None and not run.dry and _must_trip(state, run.book):
        return "gate", "HaltTripped", 1
    stages = (
        (run.reconciled, "executor", "AccountReconciled", 1),
        (run.observed, "executor", "MarketObserved", 1),
        (run.valued, "gate", "BookValued", 1),
        (run.cleared, "gate", "RunCleared", 1),
        (run.proposal, "agent", "ProposalMade", 1),
        (run.evidence, "executor", "MarketObserved", 2),
    )
    return next(((author, kind, k) for event, author, kind, k in stages if event is None), ("gate", "Verdict", 1))


def _orders(state: State, step: Step, run: Run) -> Iterator[Owed]:
    """What the approved orders of a judged run still lack, SELLs first, then the run's own end."""
    waiting = sorted((order for order in run.orders.values() if order.state.is_open), key=sending_order)
    for order in waiting:
        kind, rests = _next_of_order(step, order)
        resting = rests and not is_overdue(state, run, order)
        yield Owed("executor", kind, order.id, order.book, order.run, 1, resting)
    if not waiting:
        ended = run.settled is not None
        yield Owed("agent" if ended else "executor", "RunEnded" if ended else "RunSettled", run.id, run.book, run.id)


def sending_order(order: LedgerOrder) -> tuple[bool, int]:
    """Sort key of a batch's orders: SELLs before BUYs, each in the proposal's order."""
    return order.side is not Side.SELL, order.index


def _next_of_order(step: Step, order: LedgerOrder) -> tuple[str, bool]:
    """The event that an open order lacks next, and whether it merely rests at the broker."""
    match order.state:
        case OrderState.APPROVED:
            return "OrderIntended", False
        case OrderState.INTENDED:
            return "OrderPlaced", False
        case OrderState.WORKING:
            return "OrderClosed", step.clock.step != "close" and not order.must_end
        case _:
            return "OrderClosed", False


def _looking(state: State, step: Step) -> Iterator[Owed]:
    """What a watch step, or a close step after its orders and runs, lacks: prices, then a valuation per open book."""
    if step.clock.step != "watch" and (step.clock.step != "close" or state.runs):
        return
    time = compact(step.clock.to)
    if step.clock.step == "watch" and step.reconciled is None:
        yield Owed("executor", "AccountReconciled", f"{DESK_BOOK}-{time}", DESK_BOOK)
    elif step.observed is None:
        yield Owed("executor", "MarketObserved", f"{DESK_BOOK}-{time}", DESK_BOOK)
    else:
        for name in unvalued(state, step):
            yield Owed("gate", "BookValued", f"{name}-{time}", name)


def _hashes(step: Step) -> Iterator[Owed]:
    """The hashes of a close step that has its last fact."""
    for author in HASHING_AUTHORS:
        if author not in step.hashed:
            yield Owed(author, "StateHashed", step.clock.session, DESK_BOOK)


def _of_journal(state: State, step: Step) -> Iterator[Owed]:
    """The journal's next hash, that of a session behind the gate's and the executor's; then a halt for each difference."""
    mark = next(iter(state.marks), None)
    if mark is not None and (mark.about != step.clock.session or set(HASHING_AUTHORS) <= set(step.hashed)):
        yield Owed(JOURNAL, "StateHashed", mark.about, DESK_BOOK, resting=True)
    for about in state.differing:
        yield Owed(JOURNAL, "HaltOrdered", about, DESK_BOOK)
