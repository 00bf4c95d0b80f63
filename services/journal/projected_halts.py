"""Rows of halts and of the runs that the desk itself causes."""

from typing import Final

from services.journal.changes import Change, RunChange
from services.journal.rows import HaltRow, RunRow, RunStage
from shared.ledger.periods import exchange_day_of
from shared.protocol.envelope import Event
from shared.protocol.events import FlattenOrdered, HaltOrdered, HaltReset, HaltTripped, MarketObserved, RunSettled
from shared.protocol.ids import is_caused
from shared.protocol.money import Exact

DESK: Final = "desk"


def halt_ordered(event: Event) -> list[Change]:
    """An operator's or an alarm's halt."""
    data = event.expect(HaltOrdered)
    return [_row(event, "ordered", data.scope, data.reason, data.kind, "ordered", liquidate=data.liquidate)]


def halt_tripped(event: Event) -> list[Change]:
    """A halt by the gate itself."""
    data = event.expect(HaltTripped)
    found = data.drawdown_pct
    return [_row(event, "tripped", data.scope, data.message, data.kind, data.cause, liquidate=data.liquidate, drawdown_pct=found)]


def halt_reset(event: Event) -> list[Change]:
    """A halt is lifted."""
    data = event.expect(HaltReset)
    return [_row(event, "reset", data.scope, data.reason)]


def flatten_ordered(event: Event) -> list[Change]:
    """An operator wants something sold without a halt."""
    data = event.expect(FlattenOrdered)
    return [_row(event, "flatten", data.scope, data.reason, liquidate=True)]


def run_caused(event: Event) -> list[Change]:
    """A run that the desk caused begins with its observation; any other observation has no row."""
    if event.run is None or not is_caused(event.run):
        return []
    kind, day = event.expect(MarketObserved).purpose, exchange_day_of(event.at)
    stage = RunStage.STARTED.value
    return [RunRow(event.run, event.book, DESK, event.at, day, event.at, event.seq, stage, message=kind)]


def caused_ended(event: Event, run: str) -> RunChange:
    """It ends when it is settled; its kind stands for a status."""
    data = event.expect(RunSettled)
    kind = "liquidation" if run.rpartition("-")[2].startswith("k") else "approval"
    return RunChange(
        run,
        stage=RunStage.ENDED.value,
        withheld=data.withheld,
        filled=data.filled,
        unfilled=data.unfilled,
        status=kind,
        ended_at=event.at,
    )


def _row(
    event: Event,
    action: str,
    scope: str,
    reason: str,
    kind: str | None = None,
    cause: str | None = None,
    *,
    liquidate: bool = False,
    drawdown_pct: Exact | None = None,
) -> HaltRow:
    return HaltRow(event.seq, scope, event.at, event.author, action, kind, cause, liquidate, reason, drawdown_pct)
