"""Every status that a run can end with, and the exit code of the command, through the real processes.

`LATER` names those that nothing of this version can bring about.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from shared.protocol.reasons import RunStatus
from tests.faults.scenarios.stage import MON, TUE, Orders, Stage, entry, moved

BUY: Final = [("BUY", "AAA", 50, "101"), ("BUY", "BBB", 60, "51")]
AUD: Final = entry("listing", symbols=["AAA", "BBB", "CCC"], currency="AUD")


class Case(NamedTuple):
    """What brings a status about on Tuesday, and what the command then ends with."""

    exit: int
    scenario: str = ""
    decisions: Mapping[str, Orders] = {}
    limits: str = ""
    orders: int = 100
    says: str = ""


CASES: Final = {
    RunStatus.OK: Case(0, decisions={TUE: []}),
    RunStatus.HELD: Case(0),
    RunStatus.DRY_RUN: Case(0, entry("dry", session=TUE), {TUE: BUY}),
    RunStatus.MARKET_CLOSED: Case(0, entry("closed", exchange="SMART", session=TUE)),
    RunStatus.ORDER_LIMIT_REACHED: Case(0, orders=0),
    RunStatus.KILL_SWITCH: Case(0, moved("0.5", session=TUE), {MON: BUY}, "drawdown_confirmations = 1"),
    RunStatus.HALTED: Case(0, moved("0.5", session=MON, step="close"), {MON: BUY}, "drawdown_confirmations = 1"),
    RunStatus.SOURCE_FAILED: Case(1, decisions={TUE: BUY * 50}, says="source_failed): too_many_orders: 100 orders"),
    RunStatus.MARKET_DATA_UNAVAILABLE: Case(
        2, entry("quote", symbol="*", absent=True, session=TUE), says="no price for any of AAA:USD, BBB:USD, CCC:USD"
    ),
    RunStatus.BROKER_NOT_READY: Case(
        2,
        AUD + entry("fx", currency="AUD", rate="0.6") + entry("fx", currency="AUD", absent=True, session=TUE),
        says="no rate for any of AAA:AUD, BBB:AUD, CCC:AUD",
    ),
    RunStatus.RECONCILE_FAILED: Case(3, entry("adjust", session=TUE, symbol="CCC", quantity="5"), says="CCC"),
}

LATER: Final = {
    RunStatus.ERROR: "needs a fault of ours: tests/integration/agent/test_agent_service.py makes one",
    RunStatus.LLM_BUDGET_EXHAUSTED: "comes with sources that call a model",
    RunStatus.ABORTED: "comes with sources that cannot be repeated",
    RunStatus.UNSETTLED: "comes with a real broker: in simulated runs no wall clock ends a run",
}


def test_every_status_is_brought_about_or_is_known_to_come_later() -> None:
    assert {*CASES, *LATER} == set(RunStatus)
    assert not CASES.keys() & LATER.keys()


@pytest.mark.parametrize("status", CASES)
def test_a_run_ends_with_its_status_and_the_command_with_its_code(status: RunStatus, tmp_path: Path) -> None:
    case = CASES[status]
    stage = Stage(tmp_path).rules(case.limits, orders=case.orders)
    played = stage.play(case.scenario, {"alpha": case.decisions or {MON: []}}, days=2)

    assert (played.log.statuses("alpha")[TUE], played.code) == (status, case.exit), played.err
    assert case.says in played.err
