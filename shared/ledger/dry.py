"""Dry runs: they walk as any run does and leave books, account, counters and halts as they were. Pure.

Only the unhashed part of the state follows the walk, from which what is still to do is read off.
"""

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from shared.ledger import account, books
from shared.ledger.books import with_book
from shared.ledger.periods import exchange_day_of
from shared.ledger.state import Run, State
from shared.protocol.envelope import EnvelopeError, Event
from shared.protocol.events import BookValued

DRY: Final = "dry"
SIMULATED: Final = "sim"
MAX_RUN_CHARS: Final = 80


def is_dry(event: Event) -> bool:
    """Whether an event belongs to a run that only tries."""
    return event.envelope.mode == DRY


def mode_of(state: State, run: str | None) -> str:
    """The mode that the next event of a run carries, whoever writes it."""
    found = state.runs.get(run or "")
    return DRY if found is not None and found.dry else SIMULATED


def check_mode(state: State, event: Event) -> None:
    """Refuse an event of another mode than its run, or by a source about a run not under way; raises `EnvelopeError`.

    Such an event would take the id of the right one, which could then no longer be written.
    """
    run = state.runs.get(event.run or "")
    if run is None and event.author == "agent" and event.type != "RunStarted":
        raise EnvelopeError(f"the run {(event.run or '')[:MAX_RUN_CHARS]!r} is not under way")
    if run is not None and run.dry != is_dry(event):
        raise EnvelopeError(f"the run {run.id[:MAX_RUN_CHARS]!r} is not of mode {event.envelope.mode}")


def stage(field: str) -> "Handler":
    """A handler that remembers the event as one stage of its run."""

    def keep(state: State, event: Event) -> State:
        run = state.runs.get(event.run) if event.run else None
        return state if run is None else replace(state, runs={**state.runs, run.id: replace(run, **{field: event})})

    return keep


def _observed(state: State, event: Event) -> State:
    """The run's first observation, then the evidence of its verdict."""
    run = state.runs.get(event.run or "")
    return state if run is None else stage("observed" if run.observed is None else "evidence")(state, event)


def _ended(state: State, event: Event) -> State:
    """The run is over; an ended dry run is neither counted nor part of a digest, so that the live state does not show it."""
    return replace(state, runs={name: run for name, run in state.runs.items() if name != event.run})


def as_found(state: State, run: Run) -> State:
    """What a dry run is judged on: the state as its own look at account and book would have left it. Of a live run: the state."""
    if not run.dry:
        return state
    if run.reconciled is not None:
        failed = run.reconciled.type == "ReconciliationFailed"
        state = (account.failed if failed else account.reconciled)(state, run.reconciled)
    book = state.books.get(run.book)
    if run.valued is None or book is None:
        return state
    data = run.valued.expect(BookValued)
    book = books.valued(book, data.value, exchange_day_of(run.valued.at))
    return with_book(state, replace(book, breach=data.breach))


Handler = Callable[[State, Event], State]

HANDLERS: Final[dict[str, Handler]] = {
    "AccountReconciled": stage("reconciled"),
    "ReconciliationFailed": stage("reconciled"),
    "MarketObserved": _observed,
    "BookValued": stage("valued"),
    "RunCleared": stage("cleared"),
    "RunStopped": stage("stopped"),
    "ProposalMade": stage("proposal"),
    "SourceFailed": stage("failed"),
    "Verdict": stage("verdict"),
    "RunSettled": stage("settled"),
    "RunEnded": _ended,
}
"""What events of mode `dry` change; `RunStarted` is `shared.ledger.fold`'s, and every other type changes nothing."""
