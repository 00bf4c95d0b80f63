"""Commands about a book's money: deposits, withdrawals, opening and closing. All are moves of virtual capital, never profit."""

from typing import Final

from services.desk.operations.base import (
    MOST,
    Amount,
    BookName,
    CommandRefused,
    Flag,
    Operation,
    Tools,
    about_request,
    amount_of,
    names,
)
from services.desk.operations.base import open_book as find_open
from services.desk.tally import DeskState
from shared.ledger.books import known_value
from shared.ledger.reservations import free_cash
from shared.ledger.state import Book
from shared.protocol.envelope import Draft
from shared.protocol.events import BookClosed, BookOpened, CashDeposited, CashWithdrawn, EventData
from shared.protocol.money import ZERO, Exact

MAX_BOOKS: Final = 100
LEAST_LEFT: Final = Exact("0.01")
"""Less would have peak and units, which have 12 decimals, forget how far a book is down."""


class Deposit(Operation, frozen=True, tag="deposit"):
    """Put money into a book; `open` makes it, for the proposal source `source`."""

    book: BookName
    amount: Amount
    open: Flag = False
    source: BookName | None = None

    def check(self) -> None:
        """The amount is above 0; a source belongs to a new book."""
        amount_of(self.amount, "amount")
        if self.open and self.source is None:
            raise CommandRefused("bad_request", f"a new book needs the source that it is for: --open --source {self.book}")
        if self.source is not None and not self.open:
            raise CommandRefused("bad_request", "a source is named for a new book: --open --source")

    def draft(self, state: DeskState, tools: Tools) -> Draft:
        """`CashDeposited`, before it `BookOpened` if the book is to be opened and is not yet."""
        amount = amount_of(self.amount, "amount")
        book = state.ledger.books.get(self.book)
        if self.open and not _is_opened_by(self, book):
            return self._opening(state)
        found = find_open(state.ledger, self.book)
        if _check_value(found) + amount > MOST:
            raise CommandRefused("too_much", f"{self.book} would be worth over {MOST}, the most that a book may be")
        return about_request(state, self.book, self.request, CashDeposited(amount, self.reason))

    def _opening(self, state: DeskState) -> Draft:
        """`BookOpened`; a name is used once."""
        if self.book in state.ledger.books:
            raise CommandRefused("book_exists", f"there is a book {self.book} already, and a name is used once: leave --open out")
        if len(state.ledger.books) >= MAX_BOOKS:
            raise CommandRefused("too_many", f"a desk has at most {MAX_BOOKS} books")
        if state.ledger.policy is None:
            raise CommandRefused("not_started", "no policy is in force yet: start a run first")
        opened = BookOpened(self.source or self.book, state.ledger.policy.policy.base_currency)
        return about_request(state, self.book, self.book, opened)

    def is_said_by(self, book: str, data: EventData) -> bool:
        """Same book, amount and reason."""
        return book == self.book and data == CashDeposited(Exact(self.amount), self.reason)

    def told(self) -> str:
        """Amount and book."""
        return f"{self.amount} put into {'the new book ' if self.open else ''}{self.book}"


class Withdraw(Operation, frozen=True, tag="withdraw"):
    """Take free cash out of a book."""

    book: BookName
    amount: Amount

    def check(self) -> None:
        """The amount is above 0."""
        amount_of(self.amount, "amount")

    def draft(self, state: DeskState, tools: Tools) -> Draft:
        """`CashWithdrawn`; at most the cash that no order holds back."""
        amount, book = amount_of(self.amount, "amount"), find_open(state.ledger, self.book)
        value, free = _check_value(book), free_cash(book)
        if amount > free:
            raise CommandRefused(
                "not_free", f"{free} {book.currency} of {book.name} are free (cash {book.cash} less what is reserved)"
            )
        if book.holdings and value - amount < LEAST_LEFT:
            raise CommandRefused("not_free", f"{book.name} was worth {value} when last valued: wait for its next valuation")
        if value > amount and value - amount < LEAST_LEFT:
            raise CommandRefused("too_little", f"{value - amount} would be left: leave at least {LEAST_LEFT}, or nothing")
        return about_request(state, self.book, self.request, CashWithdrawn(amount, self.reason))

    def is_said_by(self, book: str, data: EventData) -> bool:
        """Same book, amount and reason."""
        return book == self.book and data == CashWithdrawn(Exact(self.amount), self.reason)

    def told(self) -> str:
        """Amount and book."""
        return f"{self.amount} taken out of {self.book}"


class CloseBook(Operation, frozen=True, tag="close_book"):
    """End a book that holds nothing: the rest of its cash is withdrawn, its name is never used again."""

    book: BookName

    def draft(self, state: DeskState, tools: Tools) -> Draft:
        """`BookClosed`; refused while anything is held, reserved or running."""
        book = find_open(state.ledger, self.book)
        if book.holdings:
            raise CommandRefused("holding", f"{book.name} still holds {names(tuple(book.holdings))}: sell it first")
        if book.orders:
            raise CommandRefused("reserved", f"orders of {book.name} have not ended: {names(tuple(book.orders))}")
        if book.cash < ZERO:
            raise CommandRefused("owes", f"{book.name} owes {-book.cash} {book.currency}: deposit that first")
        if book.runs:
            raise CommandRefused("running", f"{book.runs[0]} has not ended: try again in a moment")
        return about_request(state, self.book, self.request, BookClosed(book.cash, self.reason))

    def is_said_by(self, book: str, data: EventData) -> bool:
        """Same book and reason."""
        return book == self.book and isinstance(data, BookClosed) and data.reason == self.reason

    def told(self) -> str:
        """The book."""
        return f"the book {self.book} is closed, the rest of its cash withdrawn"


def _is_opened_by(command: Deposit, book: Book | None) -> bool:
    """Whether this very command opened the book and only the money is missing."""
    return book is not None and not book.closed and not book.deposited and book.source == command.source


def _check_value(book: Book) -> Exact:
    """What the book is worth, by which a flow is measured; raises `CommandRefused` while that is unknown."""
    value = known_value(book)
    if value is None:
        told = f"{book.name} holds {names(tuple(book.holdings))} and its value is not known"
        raise CommandRefused("no_value", f"{told}: wait until everything has a price")
    return value
