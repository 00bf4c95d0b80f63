"""Runs that failed and halts in force: said when the result is there; only the former are seen in the exit code. Pure."""

from typing import Final

from services.desk.errors import RunFailed, RunNotReady, RunNotReconciled
from services.desk.tally import Tally
from services.desk.wording import counted
from shared.ledger.state import State
from shared.protocol.reasons import EXIT_OF, RunStatus

WORST_FIRST: Final = (RunNotReconciled, RunFailed, RunNotReady)
"""Of runs that failed in several ways the first kind here makes the command's exit code."""


def failure_lines(tally: Tally) -> tuple[str, ...]:
    """A line per book and failed status: how many runs, and the first few messages."""
    return tuple(
        f"{name}: {counted(failures.runs, 'run')} failed ({status}): {'; '.join(failures.messages) or 'no message'}"
        + ("; …" if failures.more else "")
        for name, book in tally.books.items()
        for status, failures in book.failed.items()
    )


def halt_lines(state: State) -> tuple[str, ...]:
    """A line per halt in force: a run that ends under one has done what it should, and says so."""
    halts = [("the whole desk", halt) for halt in state.halts.values()]
    halts += [(f"the book {name}", book.halt) for name, book in state.books.items() if book.halt is not None]
    return tuple(f"{halt.kind.replace('_', '-')} halt of {scope} in force: {halt.reason}" for scope, halt in halts)


def check_runs(tally: Tally) -> None:
    """Raise the error of the worst kind of failed run, which counts them all and names each kind, if there are any."""
    counts = [(RunStatus(status), found.runs) for book in tally.books.values() for status, found in book.failed.items()]
    if not counts:
        return
    failed, codes = sum(runs for _, runs in counts), {EXIT_OF[status] for status, _ in counts}
    error = next(kind for kind in WORST_FIRST if kind.exit_code in codes)
    raise error(f"the whole window was traded, but {counted(failed, 'run')} failed", failure_lines(tally))
