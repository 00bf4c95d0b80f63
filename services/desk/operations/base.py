"""What all operator commands share: their two common fields, how they are refused, and what they look at in the folded state.

A command never acts by itself: it becomes an event. Its checks are made on the state that the event is appended to.
"""

from typing import Annotated, Final

import msgspec

from services.desk.rotation import Rotation
from services.desk.steps import AUTHOR
from services.desk.tally import DeskState
from shared.ledger.state import Book, State
from shared.protocol.envelope import Draft
from shared.protocol.events import MAX_TEXT_CHARS, EventData
from shared.protocol.ids import DESK_BOOK, MAX_ORDER_ID_CHARS
from shared.protocol.money import Exact, NumberError

MAX_REQUEST_CHARS: Final = 64
MAX_AMOUNT_CHARS: Final = 30
MAX_NAMED: Final = 8
MOST: Final = Exact(10**15)
"""The largest amount of a command, and the most that a book may be worth after a deposit."""
WHOLE_DESK: Final = "the whole desk"

Reason = Annotated[
    str, msgspec.Meta(min_length=1, max_length=MAX_TEXT_CHARS, description=f"a text of 1 to {MAX_TEXT_CHARS} characters")
]
Request = Annotated[
    str,
    msgspec.Meta(
        pattern=rf"^[A-Za-z0-9_-]{{1,{MAX_REQUEST_CHARS}}}$",
        description=f"an id of 1 to {MAX_REQUEST_CHARS} letters, digits, _ and -",
    ),
]
BookName = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[a-z][a-z0-9_]{0,11}$", description="a book's name: a lower-case letter, then at most 11 letters, digits or _"
    ),
]
OrderId = Annotated[
    str,
    msgspec.Meta(
        min_length=1, max_length=MAX_ORDER_ID_CHARS, description=f"an order's id of 1 to {MAX_ORDER_ID_CHARS} characters"
    ),
]
Amount = Annotated[
    str,
    msgspec.Meta(
        pattern=rf"^(?=.{{1,{MAX_AMOUNT_CHARS}}}$)[0-9]*\.?[0-9]{{1,12}}$",
        description='an amount as decimal text like "2500.50", above 0',
    ),
]
SignedAmount = Annotated[
    str,
    msgspec.Meta(
        pattern=rf"^(?=.{{1,{MAX_AMOUNT_CHARS}}}$)-?[0-9]*\.?[0-9]{{1,12}}$",
        description='a number as decimal text like "12.50" or "-7"',
    ),
]
Currency = Annotated[str, msgspec.Meta(pattern=r"^[A-Z]{3}$", description="a currency of three capital letters")]
Symbol = Annotated[
    str, msgspec.Meta(min_length=1, max_length=36, description="a symbol like AAPL, or with its currency AAPL:USD")
]
Flag = Annotated[bool, msgspec.Meta(description="true or false")]


class CommandRefused(Exception):
    """A command that cannot be carried out: `code` for programs, the message for people."""

    def __init__(self, code: str, message: str) -> None:
        """Keep the code beside the message."""
        super().__init__(message)
        self.code = code


class Operation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="command", kw_only=True):
    """One operator command. `request` is made by the caller: the same one again is the same event."""

    reason: Reason
    request: Request

    def check(self) -> None:
        """Refuse what no desk could carry out; raises `CommandRefused`."""

    def draft(self, state: DeskState, tools: "Tools") -> Draft:
        """The event that this command still lacks, the one about `request` last; raises `CommandRefused`."""
        raise NotImplementedError

    def is_said_by(self, book: str, data: EventData) -> bool:
        """Whether the event of this request in the log is what this command asks for."""
        raise NotImplementedError

    def told(self) -> str:
        """What was done, in a few words."""
        raise NotImplementedError


class Tools(msgspec.Struct, frozen=True):
    """What a few commands need besides the folded state: the keys' rotation, None where there are no keys."""

    rotation: Rotation | None = None


def about_request(state: DeskState, book: str, request: str, data: EventData) -> Draft:
    """A command's event at desk time; raises `CommandRefused` before there is one."""
    now = state.ledger.now
    if now is None:
        raise CommandRefused("not_started", "nothing has run here yet: start a run first")
    return Draft(AUTHOR, book, request, now, state.ledger.seq, data)


def open_book(state: State, name: str) -> Book:
    """A book that is open; raises `CommandRefused` for any other."""
    book = state.books.get(name)
    if book is None:
        known = ", ".join(list(state.books)[:MAX_NAMED]) or "none"
        raise CommandRefused("unknown_book", f"there is no book {name}: known are {known}")
    if book.closed:
        raise CommandRefused("book_closed", f"the book {name} is closed for good")
    return book


def scope_of(state: State, book: str | None) -> tuple[str, tuple[Book, ...]]:
    """A scope as events name it, and its open books; without a book it is the whole desk. Raises `CommandRefused`."""
    if book is None:
        return DESK_BOOK, tuple(found for found in state.books.values() if not found.closed)
    return book, (open_book(state, book),)


def scope_words(book: str | None) -> str:
    """A scope for people."""
    return WHOLE_DESK if book is None else f"the book {book}"


def amount_of(text: str, what: str) -> Exact:
    """An amount above 0; raises `CommandRefused`."""
    found = number_of(text, what)
    if found <= 0:
        raise CommandRefused("bad_request", f"{what} must be above 0")
    return found


def number_of(text: str, what: str) -> Exact:
    """A number of a request, whose text was checked; raises `CommandRefused` for one out of range."""
    try:
        found = Exact(text)
    except NumberError as error:
        raise CommandRefused("bad_request", f"{what}: {error}") from error
    if abs(found) > MOST:
        raise CommandRefused("bad_request", f"{what} must be at most {MOST}")
    return found


def names(found: list[str] | tuple[str, ...]) -> str:
    """The first names of a list, and how many more there are."""
    more = len(found) - MAX_NAMED
    return ", ".join(found[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
