"""Runs that failed: said book by book when the result is there, and seen in the exit code. Pure."""

from services.desk.errors import RunFailed
from services.desk.tally import Tally
from services.desk.wording import counted


def failure_lines(tally: Tally) -> tuple[str, ...]:
    """A line per book and failed status: how many runs, and the first few messages."""
    return tuple(
        f"{name}: {counted(failures.runs, 'run')} failed ({status}): {'; '.join(failures.messages) or 'no message'}"
        + ("; …" if failures.more else "")
        for name, book in tally.books.items()
        for status, failures in book.failed.items()
    )


def check_runs(tally: Tally) -> None:
    """Raise `RunFailed` that counts the failed runs and names each kind, if there are any."""
    failed = sum(failures.runs for book in tally.books.values() for failures in book.failed.values())
    if failed:
        raise RunFailed(f"the whole window was traded, but {counted(failed, 'run')} failed", failure_lines(tally))
