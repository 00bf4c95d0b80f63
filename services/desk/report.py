"""The result of a run: one row per book, and what buying and holding the universe would have given. Pure."""

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Final

import msgspec

from services.desk.tally import PERCENT, BookTally, DeskState
from shared.ledger.hashing import book_hash, state_hash
from shared.ledger.state import Book
from shared.protocol.money import Exact, divide, two_decimals, wide_context

SECONDS_DECIMALS: Final = 3


class BookReport(msgspec.Struct, frozen=True):
    """One book's row. Amounts in base currency and percentages as text with two decimals; None is unknown.

    `return_pct` is against net deposits, `max_drawdown_pct` the largest fall of closing values, a positive number.
    """

    book: str
    value: str | None
    return_pct: str | None
    max_drawdown_pct: str
    proposed: int
    approved: int
    blocked: int
    filled: int
    fees: str
    state_hash: str

    def document(self) -> dict[str, object]:
        """The row as `--json` shows it."""
        counts = {name: getattr(self, name) for name in ("proposed", "approved", "blocked", "filled")}
        return {
            "book": self.book,
            "value": self.value,
            "return_pct": self.return_pct,
            "max_drawdown_pct": self.max_drawdown_pct,
            "orders": counts,
            "fees": self.fees,
            "state_hash": self.state_hash,
        }


class Report(msgspec.Struct, frozen=True):
    """The result of a run: `events` and `last_seq` are the log's last sequence."""

    books: tuple[BookReport, ...]
    last_seq: int
    seconds: float
    state_hash: str

    def document(self) -> dict[str, object]:
        """The one document of `propdesk run --json`."""
        return {
            "books": [book.document() for book in self.books],
            "events": self.last_seq,
            "seconds": round(self.seconds, SECONDS_DECIMALS),
            "last_seq": self.last_seq,
            "state_hash": self.state_hash,
        }


class Holding(msgspec.Struct, frozen=True):
    """What an equal amount in each name gave, bought and sold at closes, without fees; None where prices are missing.

    `growth` is the last value over the first.
    """

    return_pct: str | None = None
    max_drawdown_pct: str | None = None
    growth: Exact | None = None


def report_of(state: DeskState, last_seq: int, seconds: float) -> Report:
    """The result after folding up to `last_seq`."""
    rows = tuple(_row(book, state.tally.books.get(name, BookTally())) for name, book in state.ledger.books.items())
    return Report(rows, last_seq, seconds, state_hash(state.ledger))


def _row(book: Book, tally: BookTally) -> BookReport:
    """One book's row."""
    return BookReport(
        book=book.name,
        value=_money(tally.value),
        return_pct=_money(return_pct(tally.value, book.net_deposits)),
        max_drawdown_pct=two_decimals(tally.drawdown_pct),
        proposed=tally.approved + tally.blocked,
        approved=tally.approved,
        blocked=tally.blocked,
        filled=tally.filled,
        fees=two_decimals(book.fees),
        state_hash=book_hash(book),
    )


def return_pct(value: Exact | None, deposits: Exact) -> Exact | None:
    """Gain in percent of the money put in; None if either is unknown or nothing was put in."""
    if value is None or deposits <= 0:
        return None
    with wide_context():
        return divide((value - deposits) * PERCENT, deposits)


def buy_and_hold(symbols: Iterable[str], sessions: range, close: Callable[[str, int], Decimal | None]) -> Holding:
    """Equal amounts in all `symbols` at the close of the first session, held to the close of the last.

    `close(symbol, session)` is None where there is none: a name without a first close is left out, a gap keeps the last close.
    """
    paths = [path for symbol in symbols if (path := _growth(symbol, sessions, close)) is not None]
    if not paths:
        return Holding()
    with wide_context():
        values = [Exact(sum(path[at] for path in paths)) for at in range(len(sessions))]
    tally = BookTally(high=values[0])
    for value in values:
        tally = tally.closed_at(value)
    gain = _money(return_pct(values[-1], values[0]))
    return Holding(gain, two_decimals(tally.drawdown_pct), divide(values[-1], values[0]))


def _growth(symbol: str, sessions: range, close: Callable[[str, int], Decimal | None]) -> list[Exact] | None:
    """The price over its first close, per session; None without a first close."""
    first = close(symbol, sessions.start)
    if first is None:
        return None
    path: list[Exact] = []
    for session in sessions:
        now = close(symbol, session)
        path.append(divide(now, first) if now is not None else path[-1])
    return path


def blocked_by(tally: BookTally) -> str:
    """Why a book's orders were blocked: rules with counts, most frequent first."""
    ranked = sorted(tally.rules.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{rule} {count}" for rule, count in ranked)


def _money(amount: Exact | None) -> str | None:
    """Two decimals, None kept."""
    return None if amount is None else two_decimals(amount)
