"""`propdesk status`: what the read models say, and whether a desk is running."""

from collections import Counter
from typing import Final

import msgspec
from msgspec.structs import replace

from services.desk.access import check_readable
from services.desk.closing import Table, plain
from services.desk.console import show, show_json
from services.desk.errors import UsageError
from services.desk.layout import Layout
from services.desk.lock import is_held
from services.desk.standing import Standing, standing
from services.desk.standing import lines as standing_lines
from services.desk.stopped import Stopped, advice, read_stopped
from services.desk.wording import counted
from services.journal.read import Counts, ReadModels, ReadModelsUnavailable
from services.journal.rows import BookRow
from services.journal.story import printable
from services.journal.summary import BookSummary
from shared.protocol.money import Exact, two_decimals

HEAD: Final = ("book", "source", "value", "cash", "holdings", "deposited", "proposed", "approved", "blocked", "filled", "fills")
MAX_OPEN: Final = 50
MAX_FILLS: Final = 10_000_000
MAX_RUNS: Final = 10_000_000
UNFINISHED: Final = "unfinished"
MAX_RULES: Final = 20
MAX_DROPPED: Final = 1000
UNKNOWN: Final = "unknown"


class BookStatus(msgspec.Struct, frozen=True):
    """One book: `value` is its newest valuation of any kind (at `at`) and the flows since, None if there is none or a price was
    missing; without holdings it is the cash.

    `deposited` is less what was withdrawn. `cash` and `holdings`, the number of names held, are those at `last_seq`, `free` is
    the cash that no order holds back. `runs` counts runs by how they ended.
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
    free: str | None = None


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


class Dropped(msgspec.Struct, frozen=True):
    """Messages of the log that are no facts: how many (at most `MAX_DROPPED` are counted), where the newest stands, and why."""

    messages: int
    seq: int
    why: str


class Status(msgspec.Struct, frozen=True):
    """What `--json` prints. `running` is the pid of the desk; `last_seq` the sequence that the read models have.

    `unfinished` are the runs that have begun and not ended: with a desk that does not run, it was interrupted in them.
    `stopped` says why a desk must not be started on this log.
    """

    running: int | None
    last_seq: int
    books: tuple[BookStatus, ...]
    open_orders: tuple[OpenOrder, ...]
    blocked: tuple[Blocked, ...]
    unfinished: int = 0
    newest: str | None = None
    stopped: Stopped | None = None
    standing: Standing = Standing()
    dropped: Dropped | None = None


def show_status(layout: Layout, *, as_json: bool) -> None:
    """Print books, open orders and why orders were blocked; raises `UsageError` if there is nothing to read."""
    check_readable(layout)
    running, stopped = is_held(layout), read_stopped(layout)
    try:
        with ReadModels(layout.journal) as models:
            found = replace(status_of(models, running, layout), stopped=stopped)
    except ReadModelsUnavailable as error:
        if stopped is None:
            raise UsageError(str(error)) from error
        found = Status(running, 0, (), (), (), stopped=stopped)
    if as_json:
        show_json(msgspec.to_builtins(found, enc_hook=str))
        return
    for line in lines(found, layout):
        show(line)


def status_of(models: ReadModels, running: int | None, layout: Layout) -> Status:
    """Read everything that is shown."""
    counts = models.counts()
    found, summaries = standing(models, layout)
    books = tuple(_book(models, book, counts[book.book], summaries.get(book.book)) for book in models.books())
    blocked = tuple(Blocked(row.book, row.rule, row.orders) for row in models.blocked_by()[:MAX_RULES])
    begun = sum(book.runs.get(UNFINISHED, 0) for book in books)
    newest = next(iter(models.events(limit=1)), None)
    return Status(
        running=running,
        last_seq=models.cursor(),
        books=books,
        open_orders=_open(models),
        blocked=blocked,
        unfinished=begun,
        newest=newest.at if newest else None,
        standing=found,
        dropped=_dropped(models),
    )


def _dropped(models: ReadModels) -> Dropped | None:
    """What somebody stored that counts for nothing; None if there is no such message."""
    rows = models.dropped(limit=MAX_DROPPED)
    return Dropped(len(rows), rows[0].seq, rows[0].why) if rows else None


def _book(models: ReadModels, book: BookRow, counts: Counts, now: BookSummary | None) -> BookStatus:
    """One book."""
    newest = next(iter(models.valuations(book.book, limit=1)), None)
    deposited = models.deposited(book.book)
    return BookStatus(
        book=book.book,
        source=book.source,
        currency=book.currency,
        value=_money(now.value if now else None),
        at=newest.at if newest else None,
        deposited=two_decimals(deposited),
        orders=counts,
        fills=len(models.fills(book.book, limit=MAX_FILLS)),
        cash=two_decimals(now.cash if now else deposited),
        holdings=now.holdings if now else 0,
        runs=_runs(models, book.book),
        free=two_decimals(now.free) if now else None,
    )


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
        *([] if found.stopped is None else [f"stopped at {found.stopped.at}: {found.stopped.reason}", advice(layout)]),
        *plain(rows),
        *standing_lines(found.standing, layout),
        *([] if found.dropped is None else [printable(_dropped_line(found.dropped))]),
        *(
            f"runs of {book.book}: {', '.join(f'{status} {n}' for status, n in book.runs.items())}"
            for book in found.books
            if book.runs
        ),
        *(f"blocked in {row.book}: {row.rule} {row.orders}" for row in found.blocked),
        *(f"open: {o.order}  {o.side} {o.quantity} {o.symbol} at {o.limit} ({o.state})" for o in found.open_orders),
    ]


def _dropped_line(found: Dropped) -> str:
    """Nobody but a source, a stolen key or an administrator leaves such messages: it is said for as long as they stand."""
    most = " or more" if found.messages >= MAX_DROPPED else ""
    where = f"the newest stands at sequence {found.seq} ({found.why})"
    return f"messages in the log that are no facts and count for nothing: {found.messages}{most}; {where}"


def _who(found: Status) -> str:
    """Whether somebody works on the desk, and how far it is: the log does not say which session was to be the last."""
    if found.running:
        return f"process {found.running} runs this desk"
    if found.newest is None:
        return "no desk is running here"
    if found.unfinished:
        return f"no desk is running here, and it was interrupted at {found.newest}: {counted(found.unfinished, 'run')} unfinished"
    return f"no desk is running here; it came to {found.newest} and no run is unfinished"
