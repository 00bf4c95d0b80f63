"""`propdesk status`: what the read models say, and whether a desk is running."""

from collections import Counter
from typing import Final

import msgspec

from services.desk.access import check_readable
from services.desk.closing import Table, plain
from services.desk.console import show, show_json
from services.desk.errors import UsageError
from services.desk.layout import Layout
from services.desk.lock import is_held
from services.desk.wording import counted
from services.journal.read import Counts, ReadModels, ReadModelsUnavailable
from services.journal.rows import BookRow, FillRow
from shared.protocol.market import Side
from shared.protocol.money import ZERO, Exact, two_decimals, wide_context

HEAD: Final = ("book", "source", "value", "cash", "holdings", "deposited", "proposed", "approved", "blocked", "filled", "fills")
MAX_OPEN: Final = 50
MAX_FILLS: Final = 10_000_000
MAX_RUNS: Final = 10_000_000
UNFINISHED: Final = "unfinished"
MAX_RULES: Final = 20
UNKNOWN: Final = "unknown"


class BookStatus(msgspec.Struct, frozen=True):
    """One book: `value` is its newest valuation of any kind, None if there is none or a price was missing.

    `cash` and `holdings`, the number of names held, are those after the newest fill. `runs` counts runs by how they ended.
    """

    book: str
    source: str
    currency: str
    value: str | None
    at: str | None
    deposited: str
    orders: Counts
    fills: int
    cash: str
    holdings: int
    runs: dict[str, int]


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
    """What `--json` prints. `running` is the pid of the desk; `last_seq` the sequence that the read models have.

    `unfinished` are the runs that have begun and not ended: with a desk that does not run, it was interrupted in them.
    """

    running: int | None
    last_seq: int
    books: tuple[BookStatus, ...]
    open_orders: tuple[OpenOrder, ...]
    blocked: tuple[Blocked, ...]
    unfinished: int = 0
    newest: str | None = None


def show_status(layout: Layout, *, as_json: bool) -> None:
    """Print books, open orders and why orders were blocked; raises `UsageError` if there is nothing to read."""
    check_readable(layout)
    running = is_held(layout)
    try:
        with ReadModels(layout.journal) as models:
            found = status_of(models, running)
    except ReadModelsUnavailable as error:
        raise UsageError(str(error)) from error
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
    begun = sum(book.runs.get(UNFINISHED, 0) for book in books)
    newest = next(iter(models.events(limit=1)), None)
    return Status(running, models.cursor(), books, _open(models), blocked, begun, newest.at if newest else None)


def _book(models: ReadModels, book: BookRow, counts: Counts) -> BookStatus:
    """One book."""
    newest = next(iter(models.valuations(book.book, limit=1)), None)
    fills = models.fills(book.book, limit=MAX_FILLS)
    deposited = models.deposited(book.book)
    return BookStatus(
        book=book.book,
        source=book.source,
        currency=book.currency,
        value=_money(newest.value) if newest else None,
        at=newest.at if newest else None,
        deposited=two_decimals(deposited),
        orders=counts,
        fills=len(fills),
        cash=two_decimals(_cash(deposited, fills)),
        holdings=_held(fills),
        runs=_runs(models, book.book),
    )


def _cash(deposited: Exact, fills: tuple[FillRow, ...]) -> Exact:
    """Deposits and what every fill did to them."""
    with wide_context():
        return Exact(sum((fill.cash_effect for fill in fills), start=deposited))


def _held(fills: tuple[FillRow, ...]) -> int:
    """How many names are held."""
    shares: dict[tuple[str, str], Exact] = {}
    with wide_context():
        for fill in fills:
            key = fill.symbol, fill.currency
            bought = fill.quantity if fill.side == Side.BUY.value else -fill.quantity
            shares[key] = Exact(shares.get(key, ZERO) + bought)
    return sum(1 for held in shares.values() if held)


def _runs(models: ReadModels, book: str) -> dict[str, int]:
    """Runs of a book by status, in alphabetical order; those that have not ended count as `UNFINISHED`."""
    return dict(sorted(Counter(run.status or UNFINISHED for run in models.runs(book, limit=MAX_RUNS)).items()))


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
    rows: Table = [HEAD]
    for book in found.books:
        counts = (book.orders.proposed, book.orders.approved, book.orders.blocked, book.orders.filled, book.fills)
        money = (book.value or UNKNOWN, book.cash, str(book.holdings), book.deposited)
        rows.append((book.book, book.source, *money, *map(str, counts)))
    return [
        f"{layout.root}: {_who(found)}; read models up to sequence {found.last_seq}",
        *plain(rows),
        *(
            f"runs of {book.book}: {', '.join(f'{status} {n}' for status, n in book.runs.items())}"
            for book in found.books
            if book.runs
        ),
        *(f"blocked in {row.book}: {row.rule} {row.orders}" for row in found.blocked),
        *(f"open: {o.order}  {o.side} {o.quantity} {o.symbol} at {o.limit} ({o.state})" for o in found.open_orders),
    ]


def _who(found: Status) -> str:
    """Whether somebody works on the desk, and how far it is: the log does not say which session was to be the last."""
    if found.running:
        return f"process {found.running} runs this desk"
    if found.newest is None:
        return "no desk is running here"
    if found.unfinished:
        return f"no desk is running here, and it was interrupted at {found.newest}: {counted(found.unfinished, 'run')} unfinished"
    return f"no desk is running here; it came to {found.newest} and no run is unfinished"
