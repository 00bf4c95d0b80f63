"""Dry runs on an in-memory log: through kills, beside a live one, and against a thief of the source's key."""

import asyncio
from pathlib import Path

import pytest

from shared.bus.ports import Append
from shared.ledger.owed import owed
from shared.protocol.envelope import Draft, seal
from shared.protocol.events import EventData, ProposalMade, RunEnded, RunStarted
from shared.protocol.reasons import RunStatus, StopReason
from tests.integration.agent.stage import AgentProcess, Stage
from tests.support.scribe import SESSION, SLOT

RUN = "20221003T1030-equal_weight-1"


async def test_an_agent_that_dies_after_every_event_of_a_dry_run_ends_it_as_dry(tmp_path: Path) -> None:
    stage = Stage("equal_weight", "hold", dry=("equal_weight",))
    await stage.open()
    opened = await stage.participant("journal", "1-before")
    before = opened.state.books["equal_weight"]
    await opened.close()
    process = AgentProcess(stage, tmp_path)
    playing = asyncio.ensure_future(stage.play())
    for count in range(1, 7):
        await process.until(lambda count=count: len(stage.events()) >= count)  # type: ignore[misc]
    await playing

    last = [event for event in stage.events() if event.type == "RunEnded"]
    ends = {event.book: (event.envelope.mode, event.expect(RunEnded).status) for event in last}
    assert ends == {"equal_weight": ("dry", RunStatus.DRY_RUN), "hold": ("sim", RunStatus.HELD)}
    folded = await stage.participant("journal", "2-after")
    assert (folded.state.books["equal_weight"], folded.state.runs, owed(folded.state)) == (before, {}, ())
    await folded.close()
    await stage.close()


@pytest.mark.parametrize(
    ("data", "mode"),
    [
        (RunStarted("stolen", SLOT, SESSION, ()), "dry"),
        (ProposalMade("stolen", (), "", StopReason.SUBMITTED), "sim"),
        (RunEnded(RunStatus.OK, ""), "dry"),
    ],
)
async def test_who_starts_the_due_run_dry_or_forestalls_it_with_the_sources_own_key_holds_nothing_up(
    tmp_path: Path, data: EventData, mode: str
) -> None:
    stage = Stage("equal_weight")
    await stage.open()
    subject = "ev.agent.equal_weight"
    draft = Draft("agent", "equal_weight", RUN, SLOT, 0, data, RUN, mode=mode)
    stolen = seal(draft, desk="test", instance="9-thief", n=1, prev=None)
    await stage.log.append(Append(f"{subject}.{draft.type}", draft.id, stolen, f"{subject}.>", 0))

    await AgentProcess(stage, tmp_path).until(lambda: len(stage.events()) == 4, stage.play())

    hostile, *own = stage.events()
    assert hostile.envelope.by.instance == "9-thief"
    assert [(event.id, event.envelope.mode) for event in own] == [
        (f"agent:{kind}:{RUN}", "sim") for kind in ("RunStarted", "ProposalMade", "RunEnded")
    ]
    assert own[-1].expect(RunEnded).status is RunStatus.OK
    await stage.close()
