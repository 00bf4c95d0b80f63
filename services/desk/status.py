"""`propdesk status`: what the read models say, and whether a desk is running."""

from typing import Final

import msgspec
from msgspec.structs import replace

from services.desk.closing import Table, plain
from services.desk.console import show, show_json
from services.desk.errors import UsageError
from services.desk.layout import Layout
from services.desk.lock import is_held
from services.desk.stopped import Stopped, advice, read_stopped
from services.journal.read import Counts, ReadModels, ReadModelsUnavailable
from services.journal.rows import BookRow
from shared.protocol.money import Exact, two_decimals

HEAD: Final = ("book", "source", "value", "deposited", "proposed", "approved", "blocked", "filled", "fills")
MAX_OPEN: Final = 50
MAX_RULES: Final = 20
UNKNOWN: Final = "unknown"


class BookStatus(msgspec.Struct, frozen=True):
    """One book: `value` is its newest valuation of any kind, None if there is none or a price was missing."""

    book: str
    source: str
    currency: str
    value: str | None
    at: str | None
    deposited: str
    orders: Counts
    fills: int


class OpenOrder(msgspec.Struct, frozen=True):
    """An order that has not ended."""

    order: str
    book: str
    symbol: str
    side: str
    quantity: str
    limit: str
    state: str


class Blocked(msgspec.Struct, frozen=True):
    """How many orders a rule has blocked."""

    book: str
    rule: str
    orders: int


class Status(msgspec.Struct, frozen=True):
    """What `--json` prints. `running` is the pid of the desk; `last_seq` the sequence that the read models have;
    `stopped` says why a desk must not be started on this log.
    """

    running: int | None
    last_seq: int
    books: tuple[BookStatus, ...]
    open_orders: tuple[OpenOrder, ...]
    blocked: tuple[Blocked, ...]
    stopped: Stopped | None = None


def show_status(layout: Layout, *, as_json: bool) -> None:
    """Print books, open orders and why orders were blocked; raises `UsageError` if there is nothing to read."""
    running, stopped = is_held(layout), read_stopped(layout)
    try:
        with ReadModels(layout.journal) as models:
            found = replace(status_of(models, running), stopped=stopped)
    except ReadModelsUnavailable as error:
        if stopped is None:
            raise UsageError(str(error)) from error
        found = Status(running, 0, (), (), (), stopped)
    if as_json:
        show_json(msgspec.to_builtins(found))
        return
    for line in lines(found, layout):
        show(line)


def status_of(models: ReadModels, running: int | None) -> Status:
    """Read everything that is shown."""
    counts = models.counts()
    books = tuple(_book(models, book, counts[book.book]) for book in models.books())
    blocked = tuple(Blocked(row.book, row.rule, row.orders) for row in models.blocked_by()[:MAX_RULES])
    return Status(running, models.cursor(), books, _open(models), blocked)


def _book(models: ReadModels, book: BookRow, counts: Counts) -> BookStatus:
    """One book."""
    newest = next(iter(models.valuations(book.book, limit=1)), None)
    return BookStatus(
        book=book.book,
        source=book.source,
        currency=book.currency,
        value=_money(newest.value) if newest else None,
        at=newest.at if newest else None,
        deposited=two_decimals(models.deposited(book.book)),
        orders=counts,
        fills=len(models.fills(book.book)),
    )


def _open(models: ReadModels) -> tuple[OpenOrder, ...]:
    """Orders that have not ended, newest first."""
    living = [order for order in models.orders() if order.ended_at is None]
    return tuple(
        OpenOrder(
            order=order.id,
            book=order.book,
            symbol=order.symbol,
            side=order.side,
            quantity=str(order.quantity),
            limit=str(order.limit_price),
            state=order.state,
        )
        for order in living[:MAX_OPEN]
    )


def _money(amount: Exact | None) -> str | None:
    """Two decimals, None kept."""
    return None if amount is None else two_decimals(amount)


def lines(found: Status, layout: Layout) -> list[str]:
    """The status for a person."""
    who = f"process {found.running} runs this desk" if found.running else "no desk is running here"
    rows: Table = [HEAD]
    for book in found.books:
        counts = (book.orders.proposed, book.orders.approved, book.orders.blocked, book.orders.filled, book.fills)
        rows.append((book.book, book.source, book.value or UNKNOWN, book.deposited, *map(str, counts)))
    return [
        f"{layout.root}: {who}; read models up to sequence {found.last_seq}",
        *([] if found.stopped is None else [f"stopped at {found.stopped.at}: {found.stopped.reason}", advice(layout)]),
        *plain(rows),
        *(f"blocked in {row.book}: {row.rule} {row.orders}" for row in found.blocked),
        *(f"open: {o.order}  {o.side} {o.quantity} {o.symbol} at {o.limit} ({o.state})" for o in found.open_orders),
    ]
