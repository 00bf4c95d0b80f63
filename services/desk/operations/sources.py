"""Pausing a book's source: it is not asked any more until it is resumed, and what it holds stays protected."""

from services.desk.operations.base import BookName, CommandRefused, Operation, Tools, about_request, open_book
from services.desk.tally import DeskState
from shared.protocol.envelope import Draft
from shared.protocol.events import EventData, SourcePaused, SourceResumed


class Pause(Operation, frozen=True, tag="pause"):
    """Do not ask a book's source any more."""

    book: BookName

    def draft(self, state: DeskState, tools: Tools) -> Draft:
        """`SourcePaused`."""
        found = open_book(state.ledger, self.book)
        if found.paused:
            raise CommandRefused("paused", f"the source of {self.book} is paused already: {found.paused}")
        return about_request(state, self.book, self.request, SourcePaused(self.reason))

    def is_said_by(self, book: str, data: EventData) -> bool:
        """Same book and reason."""
        return book == self.book and data == SourcePaused(self.reason)

    def told(self) -> str:
        """The book."""
        return f"the source of {self.book} is paused"


class Resume(Operation, frozen=True, tag="resume"):
    """Ask a paused source again."""

    book: BookName

    def draft(self, state: DeskState, tools: Tools) -> Draft:
        """`SourceResumed`."""
        if not open_book(state.ledger, self.book).paused:
            raise CommandRefused("not_paused", f"the source of {self.book} is not paused")
        return about_request(state, self.book, self.request, SourceResumed(self.reason))

    def is_said_by(self, book: str, data: EventData) -> bool:
        """Same book and reason."""
        return book == self.book and data == SourceResumed(self.reason)

    def told(self) -> str:
        """The book."""
        return f"the source of {self.book} is asked again"
