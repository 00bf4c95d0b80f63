"""How many shares each book held at the end of each day on which that changed: by which dividends are shared out. Pure."""

from typing import Final, Self

import msgspec
from msgspec.structs import replace

from shared.protocol.money import ZERO, Exact

MAX_DAYS: Final = 400
"""Days on which a holding changed that are remembered; of older ones the newest stands for all."""

Days = tuple[tuple[str, Exact], ...]


class Held(msgspec.Struct, frozen=True):
    """Shares by book, then instrument key: (exchange day, shares at its end), oldest first."""

    books: dict[str, dict[str, Days]] = {}

    def at(self, book: str, key: str, day: str, quantity: Exact) -> Self:
        """With what a book holds after a change on a day."""
        days = self.books.get(book, {}).get(key, ())
        if days and days[-1][0] == day:
            days = days[:-1]
        kept = (*days, (day, quantity))[-MAX_DAYS:]
        return replace(self, books={**self.books, book: {**self.books.get(book, {}), key: kept}})

    def before(self, book: str, key: str, day: str) -> Exact:
        """What a book held at the end of the last day before `day`."""
        days = self.books.get(book, {}).get(key, ())
        return next((quantity for on, quantity in reversed(days) if on < day), ZERO)
