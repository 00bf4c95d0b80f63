"""Who watches a run: a person, or a program that wants one JSON document."""

import sys

from services.desk import closing
from services.desk.arguments import Prepared
from services.desk.console import is_terminal, show, show_json
from services.desk.layout import Layout
from services.desk.progress import Progress, progress
from services.desk.report import Report
from services.desk.tally import DeskState


class JsonDisplay:
    """Progress on stderr, the result as one document on stdout."""

    def __init__(self, prepared: Prepared, began: float) -> None:
        """Nothing is shown yet."""
        self._progress: Progress = progress(prepared.plan.args, began)

    def show(self, state: DeskState) -> None:
        """Pass it on."""
        self._progress.show(state)

    def result(self, report: Report, state: DeskState) -> None:
        """Print the document."""
        self._progress.show(state)
        self._progress.end()
        show_json(report.document())

    def end(self) -> None:
        """Take the bar away."""
        self._progress.end()


class PersonDisplay:
    """Progress on stderr, a table and notes on stdout."""

    def __init__(self, prepared: Prepared, layout: Layout, began: float) -> None:
        """Nothing is shown yet."""
        self._prepared, self._layout = prepared, layout
        self._progress: Progress = progress(prepared.plan.args, began)

    def show(self, state: DeskState) -> None:
        """Pass it on."""
        self._progress.show(state)

    def result(self, report: Report, state: DeskState) -> None:
        """Print table and notes."""
        self._progress.show(state)
        self._progress.end()
        rows = closing.table(report, *closing.held(self._prepared))
        if is_terminal(sys.stdout):
            _print_table(rows)
        else:
            _show_lines(closing.plain(rows))
        for note in closing.notes(self._prepared, report, state, self._layout):
            show(note)

    def end(self) -> None:
        """Take the bar away."""
        self._progress.end()


def _print_table(rows: closing.Table) -> None:
    """The table in colours; folded where it would not fit, because an amount that is cut is another amount."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if max(map(len, closing.plain(rows))) > console.width:
        _show_lines(closing.folded(rows))
        return
    table = Table(box=None, pad_edge=False)
    for column, name in enumerate(rows[0]):
        table.add_column(name, justify="left" if column == 0 else "right", no_wrap=True)
    for row in rows[1:]:
        table.add_row(*row, style="dim" if row[0] == closing.HOLDING else None)
    console.print(table)


def _show_lines(lines: list[str]) -> None:
    for line in lines:
        show(line)
