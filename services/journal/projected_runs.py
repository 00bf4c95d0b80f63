"""Rows of runs: their course, proposals and valuations. Events without a run have no row of one."""

from msgspec import UNSET

from services.journal.changes import Change, RunChange
from services.journal.projected_caused import caused_ended
from services.journal.rows import ProposalRow, RunRow, RunStage, ValuationRow
from shared.protocol.envelope import Event, canonical
from shared.protocol.events import (
    BookValued,
    ProposalMade,
    RunCleared,
    RunEnded,
    RunSettled,
    RunStarted,
    RunStopped,
    SourceFailed,
)
from shared.protocol.ids import is_caused


def run_started(event: Event) -> list[Change]:
    """A run begins."""
    if event.run is None:
        return []
    data = event.expect(RunStarted)
    return [
        RunRow(
            id=event.run,
            book=event.book,
            source=data.source,
            slot=data.slot,
            session=data.session,
            started_at=event.at,
            seq=event.seq,
            stage=RunStage.STARTED.value,
            mode=event.envelope.mode,
            model=data.model,
            prompt_version=data.prompt_version,
        )
    ]


def run_cleared(event: Event) -> list[Change]:
    """The source may think."""
    if event.run is None:
        return []
    data = event.expect(RunCleared)
    return [RunChange(event.run, stage=RunStage.CLEARED.value, value=data.value, buys_blocked=as_json(data.buys_blocked))]


def run_stopped(event: Event) -> list[Change]:
    """The run stops before it proposes."""
    if event.run is None:
        return []
    return [RunChange(event.run, stage=RunStage.STOPPED.value, message=event.expect(RunStopped).message)]


def source_failed(event: Event) -> list[Change]:
    """The source had a fault."""
    if event.run is None:
        return []
    data = event.expect(SourceFailed)
    return [RunChange(event.run, stage=RunStage.FAILED.value, fault=data.kind.value, message=data.message)]


def run_settled(event: Event) -> list[Change]:
    """Every approved order is withheld or closed."""
    if event.run is None:
        return []
    if is_caused(event.run):
        return [caused_ended(event, event.run)]
    data = event.expect(RunSettled)
    stage = RunStage.SETTLED.value
    return [RunChange(event.run, stage=stage, withheld=data.withheld, filled=data.filled, unfilled=data.unfilled)]


def run_ended(event: Event) -> list[Change]:
    """The run's final status; without words of its own it keeps those of the stop or the fault."""
    if event.run is None:
        return []
    data = event.expect(RunEnded)
    message = data.message or UNSET
    return [RunChange(event.run, stage=RunStage.ENDED.value, status=data.status.value, message=message, ended_at=event.at)]


def proposal_made(event: Event) -> list[Change]:
    """The proposal as it was made."""
    data = event.expect(ProposalMade)
    row = ProposalRow(
        seq=event.seq,
        run=event.run,
        book=event.book,
        source=data.source,
        at=event.at,
        order_count=len(data.orders),
        orders=as_json(data.orders),
        summary=data.summary,
        stop_reason=data.stop_reason.value,
        cost=data.cost.amount if data.cost else None,
        cost_currency=data.cost.currency if data.cost else None,
        transcript=data.transcript,
        untrusted=data.untrusted,
    )
    return [row, *at_stage(event, RunStage.PROPOSED)]


def book_valued(event: Event) -> list[Change]:
    """A book's value at one time."""
    data = event.expect(BookValued)
    return [
        ValuationRow(
            seq=event.seq,
            book=event.book,
            run=event.run,
            purpose=data.purpose,
            at=event.at,
            cash=data.cash,
            value=data.value,
            peak=data.peak,
            previous=data.previous,
            drawdown_pct=data.drawdown_pct,
            used_month=data.used.month,
            used_day=data.used.day,
            holdings=as_json(data.holdings),
        )
    ]


def at_stage(event: Event, stage: RunStage) -> list[Change]:
    """The event's run has come so far."""
    return [] if event.run is None else [RunChange(event.run, stage=stage.value)]


def as_json(value: object) -> str:
    """Canonical JSON text."""
    return canonical(value).decode()
