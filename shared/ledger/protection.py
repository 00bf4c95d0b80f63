"""How halts, the kill switch and orders to sell change the state. Pure."""

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from shared.ledger import marks
from shared.ledger.books import known_value, with_book
from shared.ledger.parts import (
    EVALUATOR_FAILED,
    FULL,
    KILL_SWITCH,
    LIQUIDATION,
    REDUCE_ONLY,
    Counter,
    Halt,
    LedgerOrder,
    Sale,
)
from shared.ledger.periods import exchange_day_of
from shared.ledger.places import change_order
from shared.ledger.state import Book, Run, State, whole_holdings
from shared.protocol.envelope import Event
from shared.protocol.events import BookValued, FlattenOrdered, HaltOrdered, HaltReset, HaltTripped, Verdict
from shared.protocol.ids import DESK_BOOK
from shared.protocol.market import Side

BREACHED: Final = Halt(REDUCE_ONLY, "the drawdown limit was seen reached")


def halt_ordered(state: State, event: Event) -> State:
    """An operator's or an alarm's halt."""
    data = event.expect(HaltOrdered)
    halt = Halt(data.kind, data.reason, liquidate=data.liquidate)
    return marks.halted(_halted(state, data.scope, halt, event), event)


def halt_tripped(state: State, event: Event) -> State:
    """A halt by the gate itself: the kill switch, or an evaluator that cannot evaluate."""
    data = event.expect(HaltTripped)
    halt = Halt(data.kind, data.message, data.cause, data.liquidate)
    if event.run is not None and event.run in state.runs:
        run = state.runs[event.run]
        state = replace(state, runs={**state.runs, run.id: replace(run, tripped=event)})
    elif state.step is not None:
        state = replace(state, step=replace(state.step, tripped=(*state.step.tripped, event.book)))
    if data.cause != EVALUATOR_FAILED:
        return _halted(state, data.scope, halt, event)
    if data.scope in state.books:
        state = with_book(state, replace(state.books[data.scope], blind=True))
    return _stopping(state, scope_of(state, data.scope), halt)


def halt_reset(state: State, event: Event) -> State:
    """A halt is lifted: the peak of each book in scope becomes its value, breaches and orders to sell are forgotten."""
    scope = event.expect(HaltReset).scope
    state = _with_halt(state, scope, None)
    for name in scope_of(state, scope):
        book = state.books[name]
        value = known_value(book)
        stays = any(halt.liquidate for halt in (state.halts.get(DESK_BOOK), book.halt) if halt is not None)
        sale = book.sale if stays else None
        state = with_book(state, replace(book, peak=book.peak if value is None else value, breach=None, sale=sale))
        if book.sale is not None and sale is None:
            state = _no_longer_sold(state, name)
    return state


def _no_longer_sold(state: State, name: str) -> State:
    """What a halt was selling when it was lifted is neither sent nor left at work."""
    for order in tuple(state.books[name].orders.values()):
        if state.runs[order.run].kind == LIQUIDATION:
            state = change_order(state, order.id, cancel=True)
    return state


def flatten_ordered(state: State, event: Event) -> State:
    """What is held is to be sold once, without a halt; where a halt sells already, at once again."""
    data = event.expect(FlattenOrdered)
    for name in scope_of(state, data.scope):
        book = state.books[name]
        old = book.sale
        if old is not None and old.halted:
            sale = replace(old, looked="", tried="")
        else:
            both = () if old is not None and not old.keys else ((*(old.keys if old else ()), data.symbol) if data.symbol else ())
            sale = Sale(event.id, tuple(dict.fromkeys(both)), unfilled=old.unfilled if old else {})
        state = with_book(state, without_done_sale(replace(book, sale=sale)))
    return state


def scope_of(state: State, scope: str) -> tuple[str, ...]:
    """The books of a scope: one, or for `_desk` all that are not closed."""
    if scope != DESK_BOOK:
        return (scope,) if scope in state.books else ()
    return tuple(book.name for book in state.books.values() if not book.closed)


def without_done_sale(book: Book) -> Book:
    """The book without an order to sell that is carried out: no halt stands behind it, and no whole share is left."""
    sale = book.sale
    if sale is None or sale.halted or any(sale.wants(key) for key in whole_holdings(book)):
        return book
    return replace(book, sale=None)


def valued(state: State, event: Event, data: BookValued) -> State:
    """What a valuation says of the kill switch: its breach, whether a value is known; a breach stops open BUYs at once."""
    book = state.books[event.book]
    known = data.value is not None
    state = with_book(state, replace(book, breach=data.breach, unknown=not known, blind=book.blind and not known))
    return state if data.breach is None else _stopping(state, (event.book,), BREACHED)


def liquidated(state: State, event: Event) -> State:
    """A liquidation's verdict: when it was looked and tried to sell."""
    book = state.books[event.book]
    if book.sale is None or event.expect(Verdict).kind != LIQUIDATION:
        return state
    tried = any(decision.approved for decision in event.expect(Verdict).decisions)
    sale = replace(book.sale, looked=event.at, tried=event.at if tried else book.sale.tried)
    return with_book(state, replace(book, sale=sale))


def sale_ended(state: State, run: Run, order: LedgerOrder, at: str) -> State:
    """A liquidation's order ended: if it left something unfilled, the next attempt of the exchange day goes lower.

    What another halt stopped says nothing about the price.
    """
    book = state.books[order.book]
    if run.kind != LIQUIDATION or book.sale is None or not order.remaining or order.halt is not None:
        return state
    day = exchange_day_of(at)
    before = book.sale.unfilled.get(order.key, Counter()).within(day)
    unfilled = {**book.sale.unfilled, order.key: Counter(day, before + 1)}
    return with_book(state, replace(book, sale=replace(book.sale, unfilled=unfilled)))


def _halted(state: State, scope: str, halt: Halt, event: Event) -> State:
    """A halt of a scope: in force unless a stronger one is, what it stops stopped, what it sells to be sold."""
    if scope == DESK_BOOK or scope in state.books:
        state = _with_halt(state, scope, _stronger(_halt_of(state, scope), halt))
    names = scope_of(state, scope)
    state = _stopping(state, names, halt)
    for name in names:
        book = state.books[name]
        state = with_book(state, replace(book, sale=_sale(book.sale, halt, event.id)))
    return state


def _sale(old: Sale | None, halt: Halt, cause: str) -> Sale | None:
    """What a book is to sell after a halt: a liquidating one sells all, a full one without liquidation ends a flatten.

    What a halt sells is judged afresh after another halt, as its orders were stopped.
    """
    if halt.liquidate:
        return Sale(cause, halted=True, unfilled=old.unfilled if old else {})
    if old is None or halt.kind != FULL:
        return old
    return replace(old, looked="", tried="") if old.halted else None


def _stronger(old: Halt | None, new: Halt) -> Halt:
    """Of two halts of one scope the one that stands: full beats reduce-only, the kill switch any other; else the newer one.

    A liquidating halt stays one.
    """
    if old is None:
        return new
    stays = (old.kind == FULL and new.kind != FULL) or (old.cause == KILL_SWITCH and new.cause != KILL_SWITCH)
    kept = old if stays else new
    return replace(kept, liquidate=old.liquidate or new.liquidate)


def _halt_of(state: State, scope: str) -> Halt | None:
    return state.halts.get(DESK_BOOK) if scope == DESK_BOOK else state.books[scope].halt


def _with_halt(state: State, scope: str, halt: Halt | None) -> State:
    """Set or lift a halt of the desk or of one book."""
    if scope != DESK_BOOK:
        return with_book(state, replace(state.books[scope], halt=halt)) if scope in state.books else state
    others = {name: old for name, old in state.halts.items() if name != scope}
    return replace(state, halts={**others, scope: halt} if halt else others)


def _stopping(state: State, names: tuple[str, ...], halt: Halt) -> State:
    """Stop the open orders and the given approvals that a halt finds: a full one all of them, a reduce-only one BUYs."""
    for name in names:
        for order in tuple(state.books[name].orders.values()):
            if order.halt is None and (halt.kind == FULL or order.side is Side.BUY):
                state = change_order(state, order.id, halt=halt)
    stopped = {
        row.order: replace(row, halt=halt)
        for row in state.approvals.values()
        if row.book in names and row.given is not None and row.halt is None and (halt.kind == FULL or row.side == Side.BUY)
    }
    return replace(state, approvals={**state.approvals, **stopped}) if stopped else state


HANDLERS: Final[dict[str, Callable[[State, Event], State]]] = {
    "HaltOrdered": halt_ordered,
    "HaltTripped": halt_tripped,
    "HaltReset": halt_reset,
    "FlattenOrdered": flatten_ordered,
}
