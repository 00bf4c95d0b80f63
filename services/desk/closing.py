"""What a person reads when a run is over: a table per book beside buy and hold, and what to make of it."""

from collections.abc import Sequence
from typing import Final

from services.desk.arguments import Prepared
from services.desk.layout import DEFAULT_DIR, Layout
from services.desk.report import Holding, Report, blocked_by, buy_and_hold
from services.desk.tally import DeskState
from services.desk.wording import counted
from shared.protocol.money import two_decimals, wide_context

HEAD: Final = ("book", "value", "return %", "drawdown %", "approved", "blocked", "filled", "fees")
UNKNOWN: Final = "unknown"
HOLDING: Final = "buy and hold"
NOTICE: Final = "the data is for testing only, its names chosen by hindsight: no result on it shows that a strategy makes money"

Table = list[tuple[str, ...]]


def table(report: Report, holding: Holding, value: str | None) -> Table:
    """Head, one row per book, and the universe bought and held."""
    rows: Table = [HEAD]
    for book in report.books:
        counts = (str(book.approved), str(book.blocked), str(book.filled))
        rows.append((book.book, book.value or UNKNOWN, book.return_pct or UNKNOWN, book.max_drawdown_pct, *counts, book.fees))
    rows.append((HOLDING, value or UNKNOWN, holding.return_pct or UNKNOWN, holding.max_drawdown_pct or UNKNOWN, "", "", "", ""))
    return rows


def held(prepared: Prepared) -> tuple[Holding, str | None]:
    """What buying and holding the universe gave, and what it made of one book's deposit."""
    prices, args = prepared.prices, prepared.plan.args
    holding = buy_and_hold(prices.symbols, prepared.window, prices.close)
    if holding.growth is None:
        return holding, None
    with wide_context():
        return holding, two_decimals(args.books[0].deposit * holding.growth)


def plain(rows: Table) -> list[str]:
    """The table as aligned lines: names to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [_line(row, widths) for row in rows]


def folded(rows: Table) -> list[str]:
    """The table for a narrow screen: a line per book, and one per amount below it."""
    head, *books = rows
    lines = []
    for row in books:
        lines.append(row[0])
        lines.extend(f"  {name}: {cell}" for name, cell in zip(head[1:], row[1:], strict=True) if cell)
    return lines


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    """One aligned line."""
    cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
    return "  ".join(cells).rstrip()


def notes(prepared: Prepared, report: Report, state: DeskState, layout: Layout) -> list[str]:
    """The lines below the table."""
    sessions = prepared.plan.args.sessions
    holding = (
        f"{HOLDING}: equal amounts in every name at the close of {sessions[0]}, held to the close of {sessions[-1]}, no fees"
    )
    where = "" if str(layout.root) == DEFAULT_DIR else f" --dir {layout.root}"
    return [
        holding,
        *_designed(state),
        *([NOTICE] if prepared.is_bundled else []),
        *(f"data: {warning}" for warning in prepared.warnings()),
        f"{report.last_seq} events in {report.seconds:.1f} s, state {report.state_hash[:16]}; data in {layout.root}",
        f"next: `propdesk status{where}` for books and reasons, `propdesk replay{where}` to rebuild everything from the log",
    ]


def _designed(state: DeskState) -> list[str]:
    """What was blocked, book by book; of the rule-breaker it is what it is for."""
    lines = []
    for name, tally in state.tally.books.items():
        if not tally.blocked:
            continue
        book = state.ledger.books.get(name)
        by_design = " by design" if book is not None and book.source == "rule_breaker" else ""
        lines.append(f"{name}: {counted(tally.blocked, 'order')} blocked{by_design}: {blocked_by(tally)}")
    return lines
