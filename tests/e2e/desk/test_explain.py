"""`propdesk explain` over the real processes: beside a desk that runs, and with a server of its own where none does."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.support.desks import PROPDESK, Watcher, command, finish, run_json, running
from tests.support.runs import DAYS, Finished


def explained(folder: Path, name: str) -> dict[str, Any]:
    done = command("explain", name, "--json", "--dir", str(folder))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def test_a_run_an_order_and_an_execution_of_a_finished_desk_are_what_the_log_says(plain: Finished) -> None:
    fill = next(m.event for m in plain.log if m.event["type"] == "FillSettled")
    run, order, execution = fill["run"], fill["data"]["order"], fill["data"]["execution"]
    of_run = [m for m in plain.log if m.event["run"] == run]

    found = explained(plain.folder, run)
    assert (found["kind"], found["about"], found["run"]) == ("run", run, run)
    rows = [row for row in found["events"] if row["id"] != of_run[0].event["cause"]]
    assert [(row["seq"], row["id"], row["data"]) for row in rows] == [(m.seq, m.event["id"], m.event["data"]) for m in of_run]

    found = explained(plain.folder, order)
    own = [m.seq for m in of_run if m.event["data"].get("order") == order]
    assert set(own) <= {row["seq"] for row in found["events"]}
    assert found["outcome"] == "filled"

    for name in (execution, execution.replace(".", "_"), fill["id"]):
        found = explained(plain.folder, name)
        assert (found["kind"], found["order"]) == ("execution", order)
        assert fill["data"] in [row["data"] for row in found["events"]]


def test_the_text_of_a_blocked_order_says_the_rule_with_its_numbers_also_through_a_pipe(plain: Finished) -> None:
    verdict = next(
        m.event
        for m in plain.log
        if m.subject == "ev.gate.rule_breaker.Verdict" and m.event["data"]["decisions"][0]["reasons"][0]["rule"] == "price_collar"
    )
    done = command("explain", f"{verdict['run']}-1", "--dir", str(plain.folder))
    assert done.returncode == 0, done.stderr
    reason = verdict["data"]["decisions"][0]["reasons"][0]
    numbers = f"(limit {reason['limit']}, value {reason['value']}, headroom {reason['headroom']})"
    assert f"price_collar: {reason['message']} {numbers}" in done.stdout
    assert done.stdout.splitlines()[0] == f"order {verdict['run']}-1, run {verdict['run']}: blocked"

    with subprocess.Popen(
        [str(PROPDESK), "explain", verdict["run"], "--dir", str(plain.folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as piped:
        assert piped.stdout is not None
        assert piped.stderr is not None
        piped.stdout.readline()
        piped.stdout.close()
        assert piped.wait(60) == 0
        assert piped.stderr.read() == b""


def test_an_unknown_name_ends_with_2_and_names_what_is_nearest(plain: Finished, tmp_path: Path) -> None:
    run = next(m.event["run"] for m in plain.log if m.event["type"] == "RunStarted")
    for name, said in ((run[:-1] + "7", run), ("no such thing", "an order like"), ("nothing", "the newest are")):
        done = command("explain", name, "--json", "--dir", str(plain.folder))
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1
    done = command("explain", run, "--dir", str(tmp_path / "nowhere"))
    assert done.returncode == 2
    assert "there is no event log" in done.stderr


def test_beside_a_running_desk_it_reads_the_log_and_changes_nothing(plain: Finished, tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    with running(folder, "--days", DAYS) as process, Watcher(folder) as watcher:
        order = watcher.wait_for_type("OrderPlaced").event["data"]["order"]
        found = explained(folder, order)
        assert [row["type"] for row in found["events"]][-1] in {"OrderPlaced", "FillSettled", "OrderClosed"}
        result = finish(process)
    assert result["state_hash"] == plain.result["state_hash"]
    assert result["events"] == plain.result["events"]


def test_a_source_whose_texts_attack_the_terminal_reaches_it_as_escapes_alone(tmp_path: Path) -> None:
    decisions = tmp_path / "decisions.jsonl"
    reason = "\x1b[31mred\x1b[0m \u202egnissim \x07"
    order = {"symbol": "AAPL", "currency": "USD", "side": "BUY", "quantity": 1, "limit": 1, "reason": reason}
    decisions.write_text(json.dumps({"date": "2022-12-28", "orders": [order]}) + "\n", "utf-8")
    folder = tmp_path / "desk"
    run_json(folder, "--days", "1", "--source", f"file:{decisions}@evil")
    done = command("explain", "20221228T1030-evil-1", "--dir", str(folder))
    assert done.returncode == 0, done.stderr
    assert "gnissim" in done.stdout
    assert all(line.isprintable() for line in done.stdout.splitlines())
