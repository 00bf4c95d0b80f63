"""Halts, their end, and selling without one. What they lead to is the work of gate and executor."""

from services.desk.operations.base import (
    BookName,
    CommandRefused,
    Flag,
    Operation,
    Symbol,
    Tools,
    about_request,
    names,
    scope_of,
    scope_words,
)
from services.desk.tally import DeskState
from shared.ledger.state import Book, Halt, State
from shared.protocol.envelope import Draft
from shared.protocol.events import EventData, FlattenOrdered, HaltOrdered, HaltReset
from shared.protocol.ids import DESK_BOOK

FULL = "full"
REDUCE_ONLY = "reduce_only"


class HaltNow(Operation, frozen=True, tag="halt"):
    """Stop new risk in one book or the whole desk; `reduce_only` lets sources sell, `liquidate` lets the desk sell all."""

    book: BookName | None = None
    reduce_only: Flag = False
    liquidate: Flag = False

    def draft(self, state: DeskState, tools: Tools) -> Draft:
        """`HaltOrdered`; a halt in force is never made weaker by another one."""
        scope, _ = scope_of(state.ledger, self.book)
        found = halt_of(state.ledger, scope)
        if found is not None and found.kind == FULL and self.reduce_only:
            raise CommandRefused(
                "halted", f"a full halt of {scope_words(self.book)} is in force ({found.reason}): reset it first"
            )
        return about_request(state, scope, self.request, self._data(scope))

    def is_said_by(self, book: str, data: EventData) -> bool:
        """Same scope, kind and reason."""
        return data == self._data(DESK_BOOK if self.book is None else self.book)

    def told(self) -> str:
        """Scope and kind."""
        sold = ", and what is held will be sold" if self.liquidate else ""
        return f"{'reduce-only' if self.reduce_only else 'full'} halt of {scope_words(self.book)}{sold}"

    def _data(self, scope: str) -> HaltOrdered:
        return HaltOrdered(scope, REDUCE_ONLY if self.reduce_only else FULL, self.liquidate, self.reason)


class Reset(Operation, frozen=True, tag="reset"):
    """Lift a halt; the peak becomes the value."""

    book: BookName | None = None
    keep_holdings: Flag = False

    def draft(self, state: DeskState, tools: Tools) -> Draft:
        """`HaltReset`; refused without a halt, and while a whole share is held unless that is to stay."""
        scope, books = scope_of(state.ledger, self.book)
        if halt_of(state.ledger, scope) is None:
            raise CommandRefused("not_halted", _not_halted(state.ledger, self.book))
        held = tuple(book for book in books if any(row.quantity >= 1 for row in book.holdings.values()))
        if held and not self.keep_holdings:
            told = names(tuple(f"{book.name} {key}" for book in held for key in book.holdings))
            raise CommandRefused("holding", f"still held: {told}; sell it, or add --keep-holdings")
        unknown = next((book.name for book in held if book.value is None), None)
        if unknown is not None:
            raise CommandRefused(
                "no_value", f"the value of {unknown} is not known, and the peak becomes the value: wait for prices"
            )
        return about_request(state, scope, self.request, self._data(scope))

    def is_said_by(self, book: str, data: EventData) -> bool:
        """Same scope and reason."""
        return data == self._data(DESK_BOOK if self.book is None else self.book)

    def told(self) -> str:
        """Scope."""
        return f"the halt of {scope_words(self.book)} is lifted"

    def _data(self, scope: str) -> HaltReset:
        return HaltReset(scope, self.reason, self.keep_holdings)


class Flatten(Operation, frozen=True, tag="flatten"):
    """Sell what a book or the whole desk holds, of one instrument or all, without a halt."""

    book: BookName | None = None
    symbol: Symbol | None = None

    def draft(self, state: DeskState, tools: Tools) -> Draft:
        """`FlattenOrdered`; refused when nothing of it is held."""
        scope, books = scope_of(state.ledger, self.book)
        key = None if self.symbol is None else _held_key(books, self.symbol)
        if not any(book.holdings for book in books):
            raise CommandRefused("nothing_held", f"{scope_words(self.book)} holds nothing")
        return about_request(state, scope, self.request, FlattenOrdered(scope, key, self.reason))

    def is_said_by(self, book: str, data: EventData) -> bool:
        """Same scope, instrument and reason."""
        if not isinstance(data, FlattenOrdered) or data.reason != self.reason or data.scope != (self.book or DESK_BOOK):
            return False
        return data.symbol == self.symbol or (data.symbol or "").partition(":")[0] == self.symbol

    def told(self) -> str:
        """Scope and instrument."""
        return f"{self.symbol or 'everything'} that {scope_words(self.book)} holds will be sold"


def halt_of(state: State, scope: str) -> Halt | None:
    """The halt of exactly this scope."""
    if scope == DESK_BOOK:
        return state.halts.get(DESK_BOOK)
    return state.books[scope].halt


def _not_halted(state: State, book: str | None) -> str:
    """Why there is nothing to lift, and where there is."""
    halted = [name for name, found in state.books.items() if found.halt is not None]
    where = [*([f"{scope_words(None)} (--all)"] if DESK_BOOK in state.halts else []), *(f"{name} (--book)" for name in halted)]
    return f"there is no halt of {scope_words(book)}" + (f"; halted: {names(where)}" if where else "")


def _held_key(books: tuple[Book, ...], symbol: str) -> str:
    """The instrument key of what is held under a name; raises `CommandRefused` if it is none, or several."""
    keys = sorted({key for book in books for key in book.holdings})
    found = [key for key in keys if symbol in {key, key.rpartition(":")[0]}]
    if len(found) == 1:
        return found[0]
    if found:
        raise CommandRefused("ambiguous", f"{symbol} is held in several currencies: say which of {names(found)}")
    raise CommandRefused("nothing_held", f"{symbol} is not held; held: {names(keys) or 'nothing'}")
