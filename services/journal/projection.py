"""`changes(event)`: what each event writes into the read models. Pure; types without rows are not decoded."""

from collections.abc import Callable
from typing import Final

from services.journal import projected_caused, projected_desk, projected_orders, projected_runs, projected_verdicts
from services.journal.changes import Change
from services.journal.rows import EventRow, RunStage
from shared.protocol.envelope import Event


def index_row(event: Event) -> EventRow:
    """The event's row in the index of the log."""
    kept = event.envelope
    return EventRow(event.seq, kept.id, kept.type, event.author, kept.book, kept.run, kept.at, event.sha256)


def changes(event: Event) -> list[Change]:
    """What the event writes besides its index row, in order; nothing for types without rows. Of a dry run only its course.

    Raises `EnvelopeError` if the event's data does not fit its type.
    """
    project = (_DRY if event.envelope.mode == "dry" else _PROJECTIONS).get(event.type)
    return [] if project is None else project(event)


Projection = Callable[[Event], list[Change]]

_PROJECTIONS: Final[dict[str, Projection]] = {
    **projected_desk.PROJECTIONS,
    "MarketObserved": projected_caused.run_caused,
    "RunStarted": projected_runs.run_started,
    "RunCleared": projected_runs.run_cleared,
    "RunStopped": projected_runs.run_stopped,
    "SourceFailed": projected_runs.source_failed,
    "RunSettled": projected_runs.run_settled,
    "RunEnded": projected_runs.run_ended,
    "ProposalMade": projected_runs.proposal_made,
    "Verdict": projected_verdicts.verdict,
    "OrderWithheld": projected_orders.order_withheld,
    "OrderIntended": projected_orders.order_intended,
    "OrderPlaced": projected_orders.order_placed,
    "OrderClosed": projected_orders.order_closed,
    "FillSettled": projected_orders.fill_settled,
    "BookValued": projected_runs.book_valued,
}
_DRY: Final[dict[str, Projection]] = {
    **{name: _PROJECTIONS[name] for name in ("RunStarted", "RunCleared", "RunStopped", "SourceFailed", "RunSettled", "RunEnded")},
    "ProposalMade": lambda event: projected_runs.at_stage(event, RunStage.PROPOSED),
    "Verdict": lambda event: projected_runs.at_stage(event, RunStage.JUDGED),
}
