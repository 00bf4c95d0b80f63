"""Gate and executor die once at every border between a fact and its effect: before and after each append, send and receive."""

from pathlib import Path

import pytest

from tests.support.desks import facts, read_log, run_json
from tests.support.runs import Finished, finished
from tests.support.simulators import broker_account

DAYS = "8"
RUN_TIMEOUT_S = 500
APPENDED = {
    "gate": ("BookValued", "RunCleared", "Verdict", "StateHashed"),
    "executor": (
        "AccountReconciled",
        "MarketObserved",
        "OrderIntended",
        "OrderPlaced",
        "FillSettled",
        "OrderClosed",
        "OrderWithheld",
        "RunSettled",
        "StateHashed",
    ),
}
RECEIVED = {
    "gate": ("ClockAdvanced", "RunStarted", "AccountReconciled", "MarketObserved", "ProposalMade"),
    "executor": ("ClockAdvanced", "RunStarted", "ProposalMade", "Verdict"),
}
SENT = ("hello", "place", "sync", "orders", "executions", "positions", "account", "quotes")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    return finished(tmp_path_factory.mktemp("undisturbed") / "desk", "--days", DAYS)


@pytest.mark.long
def test_dying_once_at_every_border_changes_nothing(undisturbed: Finished, tmp_path: Path) -> None:
    places = tmp_path / "places"
    for author in APPENDED:
        (places / author).mkdir(parents=True)
    folder = tmp_path / "desk"

    result = run_json(folder, "--days", DAYS, env={"PROPDESK_BORDERS": str(places)}, timeout_s=RUN_TIMEOUT_S)

    reached = {f"{path.parent.name}.{path.name}" for path in places.glob("*/*")}
    print(f"{len(reached)} kills: {', '.join(sorted(reached))}")
    wanted = {
        f"{author}.append.{when}.{kind}" for author, kinds in APPENDED.items() for kind in kinds for when in ("before", "after")
    }
    wanted |= {f"{author}.receive.{kind}" for author, kinds in RECEIVED.items() for kind in kinds}
    wanted |= {f"executor.broker.{when}.{op}" for op in SENT for when in ("before-send", "after-send", "after-answer")}
    assert wanted <= reached, f"never reached: {sorted(wanted - reached)}"
    assert result["state_hash"] == undisturbed.result["state_hash"]
    assert facts(read_log(folder)) == facts(undisturbed.log)
    assert set(broker_account(folder).orders.values()) == {1}
