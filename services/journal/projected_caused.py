"""Rows of the runs that the desk itself causes."""

from typing import Final

from services.journal.changes import Change, RunChange
from services.journal.rows import RunRow, RunStage
from shared.ledger.periods import exchange_day_of
from shared.protocol.envelope import Event
from shared.protocol.events import MarketObserved, RunSettled
from shared.protocol.ids import is_caused

DESK: Final = "desk"


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
