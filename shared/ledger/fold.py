"""`apply(state, event) -> state`: what each event changes. Pure; types that change nothing are not decoded."""

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec.structs import replace

from shared.ledger import books, marks
from shared.ledger.periods import exchange_day_of, exchange_time_of, month_of
from shared.ledger.state import Account, Book, Halt, LedgerOrder, OrderState, Run, State, Step
from shared.protocol.envelope import EnvelopeError, Event, sha256_hex
from shared.protocol.events import (
    AccountReconciled,
    BookOpened,
    BookValued,
    CancelOrdered,
    CashDeposited,
    ClockAdvanced,
    Decision,
    FillSettled,
    HaltOrdered,
    HaltReset,
    KeysAdopted,
    OrderClosed,
    OrderIntended,
    OrderPlaced,
    OrderWithheld,
    PolicyAdopted,
    ReconciliationFailed,
    RunEnded,
    RunStarted,
    Verdict,
)
from shared.protocol.ids import DESK_BOOK, run_id, run_of
from shared.protocol.market import Side
from shared.protocol.money import Exact, wide_context

MAX_RUN_CHARS: Final = 80


def apply(state: State, event: Event) -> State:
    """The state after `event`, which must be the next of the log; dry events change nothing but `seq`.

    Raises `EnvelopeError` for one that is no fact: data that do not fit their type, a run that nobody may start now.
    """
    handler = _HANDLERS.get(event.type)
    after = state if handler is None or event.envelope.mode == "dry" else handler(state, event)
    return marks.marked(state, replace(after, seq=event.seq), event)


def _clock_advanced(state: State, event: Event) -> State:
    clock = event.expect(ClockAdvanced)
    signed = state.signed if state.step else event.envelope.sig is not None
    return replace(state, step=Step(clock, event), args=clock.args or state.args, signed=signed)


def _keys_adopted(state: State, event: Event) -> State:
    return replace(state, keys=event.expect(KeysAdopted), keys_seq=event.seq)


def _policy_adopted(state: State, event: Event) -> State:
    return replace(state, policy=event.expect(PolicyAdopted))


def _book_opened(state: State, event: Event) -> State:
    opened = event.expect(BookOpened)
    return _with_book(state, Book(event.book, opened.source, opened.currency))


def _cash_deposited(state: State, event: Event) -> State:
    return _with_book(state, books.deposit(state.books[event.book], event.expect(CashDeposited).amount))


def _halt_ordered(state: State, event: Event) -> State:
    data = event.expect(HaltOrdered)
    return marks.halted(_with_halt(state, data.scope, Halt(data.kind, data.reason)), event)


def _halt_reset(state: State, event: Event) -> State:
    return _with_halt(state, event.expect(HaltReset).scope, None)


def _with_halt(state: State, scope: str, halt: Halt | None) -> State:
    """Set or lift a halt of the desk or of one book."""
    if scope != DESK_BOOK:
        return _with_book(state, replace(state.books[scope], halt=halt)) if scope in state.books else state
    others = {name: old for name, old in state.halts.items() if name != scope}
    return replace(state, halts={**others, scope: halt} if halt else others)


def _cancel_ordered(state: State, event: Event) -> State:
    return _change_order(state, event.expect(CancelOrdered).order, cancel=True)


def _run_started(state: State, event: Event) -> State:
    data = event.expect(RunStarted)
    if event.run is None or state.step is None:
        return state
    clock = state.step.clock
    if event.run in state.step.started or event.run != run_id(clock.session, exchange_time_of(clock.to), event.book):
        raise EnvelopeError(f"the run {event.run[:MAX_RUN_CHARS]!r} is not that of this step, or was started before")
    run = Run(event.run, event.book, data.source, data.slot, data.session, data.names, event)
    step = replace(state.step, started=(*state.step.started, run.id))
    state = replace(state, runs={**state.runs, run.id: run}, step=step)
    book = state.books.get(event.book)
    return state if book is None else _with_book(state, replace(book, runs=(*book.runs, run.id)))


def _account_reconciled(state: State, event: Event) -> State:
    account = replace(state.account, cash=dict(event.expect(AccountReconciled).cash), failed=False)
    return _stage("reconciled")(replace(state, account=account), event)


def _reconciliation_failed(state: State, event: Event) -> State:
    state = replace(state, account=replace(state.account, failed=True))
    if event.run is not None:
        return _stage("reconciled")(state, event)
    lines = event.expect(ReconciliationFailed).differences
    found = "; ".join(f"{line.what}: expected {line.expected or 'unknown'}, found {line.found or 'unknown'}" for line in lines)
    return replace(state, problem=found or "reconciliation failed")


class _Purpose(msgspec.Struct):
    """The only field of an observation that folding needs."""

    purpose: str


_PURPOSE: Final = msgspec.json.Decoder(_Purpose)


def _market_observed(state: State, event: Event) -> State:
    purpose = _PURPOSE.decode(event.envelope.data).purpose
    if event.run is None:
        return state if state.step is None else replace(state, step=replace(state.step, observed=event))
    return _stage("observed" if purpose == "run" else "evidence")(state, event)


def _book_valued(state: State, event: Event) -> State:
    data = event.expect(BookValued)
    book = books.valued(state.books[event.book], data.value, exchange_day_of(event.at))
    if event.run is None:
        step = state.step
        valued = step and replace(step, valued=(*step.valued, event.book))
        return replace(_with_book(state, book), step=valued)
    book = replace(book, peak=data.peak, previous=data.previous, quoted=data.quoted)
    return _stage("valued")(_with_book(state, book), event)


def _verdict(state: State, event: Event) -> State:
    state = _stage("verdict")(state, event)
    if event.run is None or event.run not in state.runs:
        return state
    for decision in event.expect(Verdict).decisions:
        if decision.approved and decision.order is not None:
            state = _with_order(state, _approved(state, event, decision, decision.order), counted=1)
    return state


def _approved(state: State, event: Event, decision: Decision, order: str) -> LedgerOrder:
    """The order that an approving decision makes."""
    if decision.quantity is None or decision.limit is None or decision.fx is None:
        raise ValueError(f"sequence {event.seq}: approved order {order} lacks quantity, limit or FX")
    zone_name = state.policy.policy.limits.month_timezone if state.policy else "UTC"
    return LedgerOrder(
        id=order,
        book=event.book,
        run=event.run or run_of(order),
        symbol=decision.symbol,
        currency=decision.currency,
        side=Side(decision.side),
        quantity=decision.quantity,
        limit=decision.limit,
        fx=decision.fx,
        schedule=state.policy.policy.schedule(decision.currency) if state.policy else None,
        counted=(month_of(event.at, zone_name), exchange_day_of(event.at)),
    )


def _order_withheld(state: State, event: Event) -> State:
    order = find_order(state, event.expect(OrderWithheld).order)
    return state if order is None else _with_order(state, replace(order, state=OrderState.WITHHELD), counted=-1)


def _order_intended(state: State, event: Event) -> State:
    return _change_order(state, event.expect(OrderIntended).order, state=OrderState.INTENDED)


def _order_placed(state: State, event: Event) -> State:
    data = event.expect(OrderPlaced)
    stage = OrderState.WORKING if data.status == "working" else OrderState.DONE
    return _change_order(state, data.order, state=stage, permanent_id=data.permanent_id)


def _order_closed(state: State, event: Event) -> State:
    return _change_order(state, event.expect(OrderClosed).order, state=OrderState.CLOSED)


def _fill_settled(state: State, event: Event) -> State:
    fill = event.expect(FillSettled)
    order = find_order(state, fill.order)
    with wide_context():
        if order is not None:
            state = _with_order(state, replace(order, filled=Exact(order.filled + fill.quantity)))
        state = _with_book(state, books.settle(state.books[event.book], fill))
        return replace(state, account=_account_after(state.account, fill))


def _account_after(account: Account, fill: FillSettled) -> Account:
    """The account's cash after a fill, per currency; unknown stays unknown."""
    if account.cash is None:
        return account
    cash = dict(account.cash)
    gross = fill.quantity * fill.price
    for currency, change in ((fill.currency, gross if fill.side is Side.SELL else -gross), (fill.fee.currency, -fill.fee.amount)):
        cash[currency] = Exact(cash.get(currency, Exact(0)) + change)
    return replace(account, cash=cash)


def _run_ended(state: State, event: Event) -> State:
    if event.run is None or event.run not in state.runs:
        return state
    status = event.expect(RunEnded).status
    state = replace(state, runs={name: run for name, run in state.runs.items() if name != event.run})
    book = state.books.get(event.book)
    if book is None:
        return state
    counts = {**book.counts, status.value: book.counts.get(status.value, 0) + 1}
    digest = sha256_hex(f"{book.digest}{event.run}{status.value}".encode())
    return _with_book(state, replace(book, runs=tuple(r for r in book.runs if r != event.run), counts=counts, digest=digest))


def _stage(field: str) -> "Handler":
    """A handler that remembers the event as one stage of its run."""

    def keep(state: State, event: Event) -> State:
        run = state.runs.get(event.run) if event.run else None
        return state if run is None else replace(state, runs={**state.runs, run.id: replace(run, **{field: event})})

    return keep


def find_order(state: State, order: str) -> LedgerOrder | None:
    """An order of a run that has not ended; None for any other."""
    run = state.runs.get(run_of(order))
    return run.orders.get(order) if run else None


def _change_order(folded: State, order_id: str, /, **changes: object) -> State:
    """Change fields of an open order; an order that ended or is unknown stays as it is."""
    order = find_order(folded, order_id)
    return folded if order is None or not order.state.is_open else _with_order(folded, replace(order, **changes))


def _with_order(state: State, order: LedgerOrder, counted: int = 0) -> State:
    """Put an order into its run and, while open, its book; `counted` is added to the book's counters."""
    run = state.runs[order.run]
    state = replace(state, runs={**state.runs, run.id: replace(run, orders={**run.orders, order.id: order})})
    return _with_book(state, books.with_order(state.books[order.book], order, counted))


def _with_book(state: State, book: Book) -> State:
    """Replace one book."""
    return replace(state, books={**state.books, book.name: book})


Handler = Callable[[State, Event], State]

_HANDLERS: Final[dict[str, Handler]] = {
    "ClockAdvanced": _clock_advanced,
    "KeysAdopted": _keys_adopted,
    "PolicyAdopted": _policy_adopted,
    "BookOpened": _book_opened,
    "CashDeposited": _cash_deposited,
    "HaltOrdered": _halt_ordered,
    "HaltReset": _halt_reset,
    "CancelOrdered": _cancel_ordered,
    "RunStarted": _run_started,
    "AccountReconciled": _account_reconciled,
    "ReconciliationFailed": _reconciliation_failed,
    "MarketObserved": _market_observed,
    "BookValued": _book_valued,
    "RunCleared": _stage("cleared"),
    "RunStopped": _stage("stopped"),
    "ProposalMade": _stage("proposal"),
    "SourceFailed": _stage("failed"),
    "Verdict": _verdict,
    "OrderWithheld": _order_withheld,
    "OrderIntended": _order_intended,
    "OrderPlaced": _order_placed,
    "OrderClosed": _order_closed,
    "FillSettled": _fill_settled,
    "RunSettled": _stage("settled"),
    "RunEnded": _run_ended,
    "StateHashed": marks.hashed,
}
