"""`apply(state, event) -> state`: what each event changes. Pure; types that change nothing are not decoded."""

from typing import Final

import msgspec
from msgspec.structs import replace

from shared.ledger import account, approvals, books, caused, dry, marks, protection
from shared.ledger.books import with_book
from shared.ledger.dry import MAX_RUN_CHARS, Handler, is_dry
from shared.ledger.dry import stage as _stage
from shared.ledger.periods import exchange_day_of, exchange_time_of, month_of
from shared.ledger.places import change_order, with_order
from shared.ledger.state import PROPOSAL, Book, LedgerOrder, OrderState, Run, State, Step, find_order
from shared.protocol.envelope import EnvelopeError, Event, sha256_hex
from shared.protocol.events import (
    BookClosed,
    BookOpened,
    BookValued,
    CancelOrdered,
    CashDeposited,
    CashWithdrawn,
    ClockAdvanced,
    Decision,
    FillSettled,
    KeysAdopted,
    OrderClosed,
    OrderIntended,
    OrderPlaced,
    OrderWithheld,
    PolicyAdopted,
    RunEnded,
    RunStarted,
    SourcePaused,
    Verdict,
)
from shared.protocol.ids import DESK_BOOK, about_of, run_id, run_of
from shared.protocol.instants import compact
from shared.protocol.market import Side
from shared.protocol.money import Exact, wide_context

__all__ = ["apply", "find_order"]


def apply(state: State, event: Event) -> State:
    """The state after `event`, which must be the next of the log; a dry one changes nothing but `seq` and how far its run is.

    Raises `EnvelopeError` for one that is no fact: data that do not fit their type, a run that nobody may start now or so.
    """
    dry.check_mode(state, event)
    handler = (_DRY_HANDLERS if is_dry(event) else _HANDLERS).get(event.type)
    after = state if handler is None else handler(state, event)
    return marks.marked(state, replace(after, seq=event.seq), event)


def _clock_advanced(state: State, event: Event) -> State:
    clock = event.expect(ClockAdvanced)
    signed = state.signed if state.step else event.envelope.sig is not None
    return replace(state, step=Step(clock, event), args=clock.args or state.args, signed=signed)


def _keys_adopted(state: State, event: Event) -> State:
    return replace(state, keys=event.expect(KeysAdopted), keys_seq=event.seq)


def _policy_adopted(state: State, event: Event) -> State:
    return replace(state, policy=event.expect(PolicyAdopted), policy_seq=event.seq)


def _book_opened(state: State, event: Event) -> State:
    opened = event.expect(BookOpened)
    return with_book(state, Book(event.book, opened.source, opened.currency))


def _cash_deposited(state: State, event: Event) -> State:
    return with_book(state, books.flow(state.books[event.book], event.expect(CashDeposited).amount))


def _cash_withdrawn(state: State, event: Event) -> State:
    return with_book(state, books.flow(state.books[event.book], Exact(-event.expect(CashWithdrawn).amount)))


def _book_closed(state: State, event: Event) -> State:
    return with_book(state, books.close(state.books[event.book], event.expect(BookClosed).amount))


def _source_paused(state: State, event: Event) -> State:
    return with_book(state, replace(state.books[event.book], paused=event.expect(SourcePaused).reason))


def _source_resumed(state: State, event: Event) -> State:
    return with_book(state, replace(state.books[event.book], paused=""))


def _cancel_ordered(state: State, event: Event) -> State:
    return change_order(state, event.expect(CancelOrdered).order, cancel=True)


def _run_started(state: State, event: Event) -> State:
    data = event.expect(RunStarted)
    if event.run is None or state.step is None:
        return state
    clock = state.step.clock
    if event.run in state.step.started or event.run != run_id(clock.session, exchange_time_of(clock.to), event.book):
        raise EnvelopeError(f"the run {event.run[:MAX_RUN_CHARS]!r} is not that of this step, or was started before")
    if is_dry(event) != (event.book in clock.dry):
        raise EnvelopeError(f"the run {event.run[:MAX_RUN_CHARS]!r} is due in another mode than {event.envelope.mode}")
    run = Run(event.run, event.book, data.source, data.slot, data.session, data.names, event)
    step = replace(state.step, started=(*state.step.started, run.id))
    state = replace(state, runs={**state.runs, run.id: run}, step=step)
    book = state.books.get(event.book)
    return state if book is None or run.dry else with_book(state, replace(book, runs=(*book.runs, run.id)))


def _account_reconciled(state: State, event: Event) -> State:
    return _reconciled_in(account.reconciled(state, event), event)


def _reconciliation_failed(state: State, event: Event) -> State:
    return _reconciled_in(account.failed(state, event), event)


def _reconciled_in(state: State, event: Event) -> State:
    """Remember a reconciliation in its run or, if it is about the step itself, in that."""
    if event.run is not None:
        return _stage("reconciled")(state, event)
    step = state.step
    if step is None or about_of(event.id) != f"{DESK_BOOK}-{compact(step.clock.to)}":
        return state
    return replace(state, step=replace(step, reconciled=event))


class _Purpose(msgspec.Struct):
    """The only field of an observation that folding needs."""

    purpose: str


_PURPOSE: Final = msgspec.json.Decoder(_Purpose)


def _market_observed(state: State, event: Event) -> State:
    purpose = _PURPOSE.decode(event.envelope.data).purpose
    if event.run is None:
        return state if state.step is None else replace(state, step=replace(state.step, observed=event))
    if caused.of_kind(purpose) and event.run not in state.runs:
        return caused.begun(state, event, event.run, purpose)
    return _stage("observed" if purpose == "run" else "evidence")(state, event)


def _book_valued(state: State, event: Event) -> State:
    data = event.expect(BookValued)
    book = books.valued(state.books[event.book], data.value, exchange_day_of(event.at))
    if event.run is None:
        step = state.step
        valued = step and replace(step, valued=(*step.valued, event.book))
        return protection.valued(replace(with_book(state, book), step=valued), event, data)
    book = replace(book, peak=data.peak, previous=data.previous, quoted=data.quoted)
    return _stage("valued")(protection.valued(with_book(state, book), event, data), event)


def _verdict(state: State, event: Event) -> State:
    state = _stage("verdict")(state, event)
    if event.run is None or event.run not in state.runs:
        return state
    verdict = event.expect(Verdict)
    for decision in verdict.decisions:
        if decision.approved and decision.order is not None:
            state = with_order(state, _approved(state, event, decision, decision.order), counted=1)
    return protection.liquidated(approvals.noted(state, event, state.runs[event.run], verdict), event)


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
    return state if order is None else with_order(state, replace(order, state=OrderState.WITHHELD), counted=-1)


def _order_intended(state: State, event: Event) -> State:
    data = event.expect(OrderIntended)
    return change_order(state, data.order, state=OrderState.INTENDED, exchange=data.exchange)


def _order_placed(state: State, event: Event) -> State:
    data = event.expect(OrderPlaced)
    stage = OrderState.WORKING if data.status == "working" else OrderState.DONE
    return change_order(state, data.order, state=stage, permanent_id=data.permanent_id)


def _order_closed(state: State, event: Event) -> State:
    order = find_order(state, event.expect(OrderClosed).order)
    if order is None or not order.state.is_open:
        return state
    state = with_order(state, replace(order, state=OrderState.CLOSED))
    return protection.sale_ended(state, state.runs[order.run], order, event.at)


def _fill_settled(state: State, event: Event) -> State:
    fill = event.expect(FillSettled)
    order = find_order(state, fill.order)
    with wide_context():
        if order is not None:
            state = with_order(state, replace(order, filled=Exact(order.filled + fill.quantity)))
        book = books.settle(state.books[event.book], fill, order.exchange if order else None)
        state = with_book(state, protection.without_done_sale(book))
        return replace(state, account=account.filled(state.account, fill))


def _run_settled(state: State, event: Event) -> State:
    run = state.runs.get(event.run or "")
    return _stage("settled")(state, event) if run is None or run.kind == PROPOSAL else caused.ended(state, run)


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
    return with_book(state, replace(book, runs=tuple(r for r in book.runs if r != event.run), counts=counts, digest=digest))


_HANDLERS: Final[dict[str, Handler]] = {
    "ClockAdvanced": _clock_advanced,
    "KeysAdopted": _keys_adopted,
    "PolicyAdopted": _policy_adopted,
    "BookOpened": _book_opened,
    "CashDeposited": _cash_deposited,
    "CashWithdrawn": _cash_withdrawn,
    "BookClosed": _book_closed,
    "SourcePaused": _source_paused,
    "SourceResumed": _source_resumed,
    "AccountBaselined": account.baselined,
    "AdjustmentBooked": account.adjusted,
    "ApprovalGiven": approvals.given,
    "ApprovalRefused": approvals.refused,
    **protection.HANDLERS,
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
    "RunSettled": _run_settled,
    "RunEnded": _run_ended,
    "StateHashed": marks.hashed,
}
_DRY_HANDLERS: Final[dict[str, Handler]] = {**dry.HANDLERS, "RunStarted": _run_started}
