"""How far a run is: a bar where a person watches, a line every few sessions elsewhere. Always on stderr."""

import sys
import time
from typing import TYPE_CHECKING, Final, Protocol

from services.desk.console import is_terminal, say
from services.desk.steps import sessions_done
from services.desk.tally import DeskState, Fill
from shared.protocol.events import RunArgs
from shared.protocol.market import Side
from shared.protocol.money import two_decimals

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

LINES: Final = 12
REFRESH_S: Final = 0.1
REPORT_DECIMALS: Final = 2
BAR_CHARS: Final = 10


class Progress(Protocol):
    """Shows how far a run is."""

    def show(self, state: DeskState) -> None:
        """The log was folded up to here; called for every event, so it must be cheap."""
        ...

    def end(self) -> None:
        """Nothing more comes."""
        ...


def progress(args: RunArgs, began: float) -> Progress:
    """The right one for this stderr; `began` is the monotonic time at which the command started."""
    return RichProgress(args, began) if is_terminal(sys.stderr) else PlainProgress(args, began)


class FirstFill:
    """Announces the first fill once, unless it stood in the log before this command looked: a resumed run's is no news."""

    def __init__(self, began: float) -> None:
        """Nothing is known yet."""
        self._began = began
        self._known: bool | None = None

    def line(self, state: DeskState) -> str | None:
        """The line to show now, None almost always."""
        fill = state.tally.first_fill
        is_news = fill is not None and self._known is False
        self._known = fill is not None
        return first_fill_line(fill, time.monotonic() - self._began) if fill and is_news else None


class PlainProgress:
    """A line for the first fill and about `LINES` lines for the sessions."""

    def __init__(self, args: RunArgs, began: float) -> None:
        """Nothing is shown yet."""
        self._args = args
        self._every = max(1, len(args.sessions) // LINES)
        self._seen: object = None
        self._done = 0
        self._first = FirstFill(began)

    def show(self, state: DeskState) -> None:
        """Say what is new."""
        if line := self._first.line(state):
            say(line)
        step = state.ledger.step
        if step is None or (step.clock.to, step.hashed) == self._seen:
            return
        self._seen = (step.clock.to, step.hashed)
        done = sessions_done(state.ledger, self._args)
        if done // self._every > self._done // self._every:
            say(f"{step.clock.session}  {done}/{len(self._args.sessions)} sessions  {values(state)}")
        self._done = done

    def end(self) -> None:
        """Nothing is held."""


class RichProgress:
    """A bar with date and values. rich is imported with the first event, when the children are starting anyway."""

    def __init__(self, args: RunArgs, began: float) -> None:
        """Nothing is shown yet."""
        self._args = args
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._first = FirstFill(began)
        self._shown = 0.0

    def show(self, state: DeskState) -> None:
        """Move the bar, at most every `REFRESH_S`."""
        bar = self._bar or self._start()
        if line := self._first.line(state):
            bar.console.print(line, highlight=False)
        now = time.monotonic()
        if now - self._shown < REFRESH_S or self._task is None:
            return
        self._shown = now
        day = state.ledger.step.clock.session if state.ledger.step else "starting"
        bar.update(self._task, completed=sessions_done(state.ledger, self._args), day=day, values=values(state, decimals=0))
        bar.refresh()

    def _start(self) -> "Bar":
        """Show an empty bar. It is drawn by us alone: a thread of rich's would be in the way of starting children."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.table import Column

        whole, cut = Column(no_wrap=True), Column(no_wrap=True, overflow="ellipsis", ratio=1)
        columns = (
            TextColumn("{task.fields[day]}", table_column=whole),
            BarColumn(BAR_CHARS),
            MofNCompleteColumn(table_column=whole),
            TextColumn("{task.fields[values]}", table_column=cut),
        )
        bar = self._bar = Progress(*columns, console=Console(stderr=True), auto_refresh=False, transient=True, expand=True)
        bar.start()
        self._task = bar.add_task("", total=len(self._args.sessions), day="starting", values="")
        return bar

    def end(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def values(state: DeskState, decimals: int = REPORT_DECIMALS) -> str:
    """Every book with its newest closing value."""
    books = state.tally.books.items()
    return "  ".join(f"{name} {book.value:.{decimals}f}" for name, book in books if book.value is not None)


def first_fill_line(fill: Fill, seconds: float) -> str:
    """The first fill in words."""
    data = fill.data
    verb = "bought" if data.side is Side.BUY else "sold"
    what = f"{verb} {data.quantity} {data.symbol} at {data.price} {data.currency}"
    return f"first fill after {seconds:.1f} s: {fill.book} {what} (fee {two_decimals(data.fee.amount)} {data.fee.currency})"
