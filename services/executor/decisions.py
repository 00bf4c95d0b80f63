"""The executor's facts as drafts: about what, in which book and run, and from which event they follow. Pure."""

import re
from typing import Final

from msgspec.structs import replace

from services.executor.broker import BrokerOrder, Observation, OrderStatus
from services.executor.orders import Send, Withhold
from shared.ledger.caused import LETTERS, next_approval
from shared.ledger.dry import mode_of
from shared.ledger.hashing import state_hash
from shared.ledger.names import judged_names
from shared.ledger.owed import Owed
from shared.ledger.parts import LIQUIDATION
from shared.ledger.state import LedgerOrder, OrderState, Run, State
from shared.protocol.envelope import Draft, Event, clean_text
from shared.protocol.events import (
    AccountReconciled,
    EventData,
    FillSettled,
    MarketObserved,
    OrderClosed,
    OrderIntended,
    OrderPlaced,
    OrderWithheld,
    ProposalMade,
    ReconciliationFailed,
    RunSettled,
    StateHashed,
)
from shared.protocol.ids import DESK_BOOK, event_id, execution_token
from shared.protocol.instants import compact
from shared.protocol.market import instrument_key, split_key
from shared.protocol.money import ZERO, Exact
from shared.protocol.reasons import OrderEnd

AUTHOR: Final = "executor"
MAX_MESSAGE_CHARS: Final = 500
_SYMBOL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 .\-/]{0,31}", re.ASCII)
_CURRENCY: Final = re.compile(r"[A-Z]{3}", re.ASCII)
_ENDS: Final = {
    OrderStatus.FILLED: OrderEnd.FILLED,
    OrderStatus.CANCELLED: OrderEnd.CANCELLED,
    OrderStatus.REJECTED: OrderEnd.REJECTED,
    OrderStatus.EXPIRED: OrderEnd.EXPIRED,
}


def reconciled(state: State, run: Run, data: AccountReconciled | ReconciliationFailed) -> Draft:
    """The account's reconciliation before a run."""
    return _of_run(state, run, data, run.id, run.started)


def desk_failed(state: State, data: ReconciliationFailed) -> Draft:
    """A reconciliation that failed outside of any run."""
    failures = state.step.failures if state.step else 0
    return _of_desk(state, data, _step_name(state), failures + 1)


def looked_again(state: State, order: str, data: AccountReconciled | ReconciliationFailed) -> Draft:
    """The account once more, after the end of an order that had explained a difference."""
    return _of_desk(state, data, order)


def is_of_step(state: State, item: Owed) -> bool:
    """Whether an item is about the step of desk time itself."""
    return item.about == _step_name(state)


def watch_reconciled(state: State, data: AccountReconciled | ReconciliationFailed) -> Draft:
    """The account's reconciliation at a watch step."""
    return desk_failed(state, data) if isinstance(data, ReconciliationFailed) else _of_desk(state, data, _step_name(state))


def run_observed(state: State, run: Run, seen: Observation) -> Draft:
    """The market before a run: the names it wants, those held and those with an open order."""
    return _of_run(state, run, _market("run", seen), run.id, run.reconciled or run.started)


def verdict_observed(state: State, run: Run, seen: Observation) -> Draft:
    """The market for the verdict on a proposal."""
    return _of_run(state, run, _market("verdict", seen), run.id, run.proposal or run.started, k=2)


def watch_observed(state: State, seen: Observation) -> Draft:
    """The market at a watch or close step."""
    return _of_desk(state, _market("watch", seen), _step_name(state))


def caused_observed(state: State, item: Owed, seen: Observation, positions: dict[str, Exact] | None) -> Draft:
    """The market with which a run begins that the desk causes; for a liquidation with the broker's positions."""
    kind = kind_of(item)
    data = replace(_market(kind, seen), positions=positions)
    return Draft(AUTHOR, item.book, item.about, _now(state), state.seq, data, run=item.run, cause=cause_of(state, item))


def kind_of(item: Owed) -> str:
    """Liquidation or approval, as the letter in the run's id says."""
    return next(kind for kind, letter in LETTERS.items() if item.about.rpartition("-")[2].startswith(letter))


def cause_of(state: State, item: Owed) -> str | None:
    """The event that causes a run: the one that wants a book sold, or the approval that comes next."""
    if kind_of(item) == LIQUIDATION:
        sale = state.books[item.book].sale
        return sale.cause if sale else None
    found = next_approval(state, item.book)
    return found.given.id if found is not None and found.given is not None else None


def caused_names(state: State, item: Owed) -> tuple[str, ...]:
    """Instruments to price for such a run: those held and, for an approval, the one of its order, by key."""
    if kind_of(item) == LIQUIDATION:
        return tuple(sorted(state.books[item.book].holdings))
    found = next_approval(state, item.book)
    asked = {instrument_key(found.symbol, found.currency)} if found is not None else set()
    return judged_names(state, item.book, {key for key in asked if _is_name(key)})


def run_names(state: State, run: Run) -> tuple[str, ...]:
    """Instruments to price before a run by key: those the source wants, as far as they can be names at all, held, or at work."""
    book = state.books[run.book]
    working = {order.key for order in book.orders.values()}
    return tuple(sorted({*filter(_is_name, run.names), *book.holdings, *working}))


def verdict_names(state: State, run: Run) -> tuple[str, ...]:
    """Instruments to price for a verdict by key: those proposed, as far as they can be names at all, and what judging needs."""
    proposed = run.proposal.expect(ProposalMade).orders if run.proposal else ()
    keys = {key for order in proposed if _is_name(key := instrument_key(order.symbol, order.currency))}
    return judged_names(state, run.book, keys)


def _is_name(key: str) -> bool:
    """Whether an instrument key can be one at all."""
    symbol, currency = split_key(key)
    return _SYMBOL.fullmatch(symbol) is not None and _CURRENCY.fullmatch(currency) is not None


def watch_names(state: State) -> tuple[str, ...]:
    """Instruments held by any book, by key."""
    return tuple(sorted({key for book in state.books.values() for key in book.holdings}))


def intended(state: State, run: Run, decision: Send) -> Draft:
    """About to be sent; the order's id is its reference at the broker."""
    order = decision.order
    data = OrderIntended(
        order=order.id,
        symbol=order.symbol,
        currency=order.currency,
        exchange=decision.exchange,
        side=order.side,
        quantity=order.quantity,
        limit=decision.limit,
        reference=order.id,
    )
    return _of_run(state, run, data, order.id, run.verdict)


def withheld(state: State, run: Run, decision: Withhold) -> Draft:
    """Approved but not sent."""
    message = clean_text(decision.message, MAX_MESSAGE_CHARS)
    return _of_run(state, run, OrderWithheld(decision.order.id, decision.reason, message), decision.order.id, run.verdict)


def placed(state: State, run: Run, order: LedgerOrder, found: BrokerOrder) -> Draft:
    """The broker has it."""
    status = "working" if found.status is OrderStatus.WORKING else "done"
    cause = event_id(AUTHOR, "OrderIntended", order.id)
    return _of_run(state, run, OrderPlaced(order.id, found.permanent_id, status), order.id, cause)


def filled(state: State, run: Run, order: LedgerOrder, data: FillSettled) -> Draft:
    """One execution."""
    return _of_run(state, run, data, execution_token(data.execution), _sent(order))


def closed(state: State, run: Run, order: LedgerOrder, found: BrokerOrder) -> Draft:
    """The order's end in the broker's words; raises `KeyError` for one that works."""
    data = OrderClosed(order.id, _ENDS[found.status], order.filled, clean_text(found.message, MAX_MESSAGE_CHARS))
    return _of_run(state, run, data, order.id, _sent(order))


def settled(state: State, run: Run) -> Draft:
    """Every approved order of the run is withheld or closed."""
    orders = run.orders.values()
    withheld_count = sum(order.state is OrderState.WITHHELD for order in orders)
    filled_count = sum(order.filled > ZERO for order in orders)
    counts = RunSettled(withheld_count, filled_count, len(orders) - withheld_count - filled_count)
    return _of_run(state, run, counts, run.id, run.verdict)


def hashed(state: State) -> Draft:
    """The hash of the ledger after the session's last fact; raises `LookupError` before that, when it is not owed."""
    mark = state.step.mark if state.step else None
    if mark is None:
        raise LookupError("the close step is not complete yet")
    return _of_desk(state, StateHashed(mark.session, state_hash(mark)), mark.session)


def _market(purpose: str, seen: Observation) -> MarketObserved:
    """An observation as a fact."""
    return MarketObserved(purpose, seen.quotes, seen.ticks, seen.fx, seen.sessions)


def _sent(order: LedgerOrder) -> str:
    """The id of the fact that says how far the order came: placed, or intended only."""
    return event_id(AUTHOR, "OrderIntended" if order.state is OrderState.INTENDED else "OrderPlaced", order.id)


def _of_run(state: State, run: Run, data: EventData, about: str, cause: Event | str | None, k: int = 1) -> Draft:
    """A fact that belongs to a run."""
    cause_id = cause.id if isinstance(cause, Event) else cause
    mode = mode_of(state, run.id)
    return Draft(AUTHOR, run.book, about, _now(state), state.seq, data, run=run.id, cause=cause_id, k=k, mode=mode)


def _of_desk(state: State, data: EventData, about: str, k: int = 1) -> Draft:
    """A fact that belongs to the whole desk."""
    return Draft(AUTHOR, DESK_BOOK, about, _now(state), state.seq, data, cause=state.step.event.id if state.step else None, k=k)


def _step_name(state: State) -> str:
    """What a fact about the step of desk time is about."""
    return f"{DESK_BOOK}-{compact(state.now or '')}"


def _now(state: State) -> str:
    """Desk time; raises `LookupError` before the first clock event, when nothing is owed."""
    if state.now is None:
        raise LookupError("desk time is not known before the first ClockAdvanced")
    return state.now
