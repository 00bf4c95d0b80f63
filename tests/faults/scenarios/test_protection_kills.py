"""Gate and executor die between a breach, the halt, its cancels, its verdict, each intent and each send: the end is the same."""

from pathlib import Path

from tests.faults.scenarios.stage import MON, WED, Stage, entry, moved
from tests.support.desks import Message, facts, read_log, run_json

BOUGHT = [("BUY", "AAA", 50, "101"), ("BUY", "BBB", 60, "51")]
RESTING = [("SELL", "AAA", 20, "101.5"), ("BUY", "CCC", 10, "19.7")]
PLACES = {
    "gate": ("HaltTripped", "Verdict.caused"),
    "executor": tuple(
        f"{kind}.caused"
        for kind in ("MarketObserved", "OrderIntended", "OrderPlaced", "FillSettled", "OrderClosed", "RunSettled")
    ),
}
ELSEWHERE = {
    "gate": ("BookValued", "RunCleared", "RunStopped", "Verdict", "StateHashed"),
    "executor": (
        *("AccountReconciled", "MarketObserved", "OrderIntended", "OrderPlaced", "FillSettled", "OrderWithheld"),
        *("RunSettled", "StateHashed"),
    ),
}
"""Places of ordinary runs, at which other tests have the processes die."""
RECEIVED = (
    *("ClockAdvanced", "RunStarted", "AccountReconciled", "MarketObserved", "BookValued", "RunCleared", "RunStopped"),
    *("ProposalMade", "Verdict", "OrderIntended", "OrderPlaced", "FillSettled", "RunSettled", "RunEnded", "StateHashed"),
)
SENT = ("hello", "place", "sync", "orders", "executions", "positions", "account", "quotes", "cancel", "wait", "clock")
RUN_TIMEOUT_S = 240


def places_in(folder: Path) -> Path:
    """A folder of places in which only those of the protection are still to be passed."""
    for author in PLACES:
        (folder / author).mkdir(parents=True)
        passed = [f"append.{when}.{kind}" for when in ("before", "after") for kind in ELSEWHERE[author]]
        passed += [f"receive.{kind}" for kind in RECEIVED]
        passed += [f"broker.{when}.{op}" for when in ("before-send", "after-send", "after-answer") for op in SENT]
        for name in passed:
            (folder / author / name).touch()
    return folder


def test_dying_once_at_every_border_of_a_liquidation_changes_nothing(tmp_path: Path) -> None:
    crash = moved("0.5", session=WED, since="11:00") + entry("watch", session=WED, times=["11:00", "11:30"])
    books = {"alpha": {MON: BOUGHT, WED: RESTING}}
    undisturbed = _played(tmp_path / "undisturbed", crash, books, {})
    places = places_in(tmp_path / "places")
    passed = set(places.glob("*/*"))

    disturbed = _played(tmp_path / "disturbed", crash, books, {"PROPDESK_BORDERS": str(places)})

    reached = {f"{path.parent.name}.{path.name}" for path in set(places.glob("*/*")) - passed}
    print(f"{len(reached)} kills: {', '.join(sorted(reached))}")
    wanted = {
        f"{author}.append.{when}.{kind}" for author, kinds in PLACES.items() for kind in kinds for when in ("before", "after")
    }
    assert wanted <= reached, f"never reached: {sorted(wanted - reached)}"
    assert facts(disturbed) == facts(undisturbed)
    assert [message.event["data"]["order"] for message in disturbed if message.subject.endswith(".OrderIntended")] == [
        message.event["data"]["order"] for message in undisturbed if message.subject.endswith(".OrderIntended")
    ]


def _played(
    folder: Path, scenario: str, books: dict[str, dict[str, list[tuple[str, str, int, str]]]], env: dict[str, str]
) -> list[Message]:
    """The log of a run that ended well."""
    folder.mkdir()
    stage = Stage(folder)
    run_json(stage.desk, *stage.arguments(scenario, books, days=4), env=env, timeout_s=RUN_TIMEOUT_S)
    return read_log(stage.desk)
