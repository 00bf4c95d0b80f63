"""What was used up stays used up: by a snapshot that is damaged, and while the log cannot be reached."""

import os
import signal
from pathlib import Path

from tests.faults.scenarios.stage import MON, TUE, Stage
from tests.support.desks import Watcher, children_of, command, finish, running, stop, wait_for

BOUGHT = [("BUY", "AAA", 50, "101"), ("BUY", "BBB", 60, "51")]
ONE_MORE = [("BUY", "CCC", 10, "20.2")]


def test_with_every_snapshot_damaged_the_month_is_as_used_up_as_before(tmp_path: Path) -> None:
    stage = Stage(tmp_path).rules(orders=2)
    arguments = stage.arguments("", {"alpha": {MON: BOUGHT, TUE: ONE_MORE}}, days=2)
    with running(stage.desk, *arguments) as process, Watcher(stage.desk) as watcher:
        agent = wait_for(lambda: children_of(process.pid).get("agent"))
        watcher.wait_for_type("RunEnded")
        stop(agent)
        process.terminate()
        os.kill(agent, signal.SIGCONT)
        process.communicate(timeout=30)
    services = ("gate", "executor", "agent")
    for name in services:
        folder = stage.desk / "services" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "snapshot.json").write_bytes(b'{"checksum":"", "seq": 1000000')
    done = command("run", "--json", "--no-serve", "--dir", str(stage.desk), *arguments)
    played = stage.looked_at(done.returncode, done.stdout, done.stderr)

    assert played.code == 0, played.err
    (late,) = [event["data"] for event in played.log.of("Verdict", "alpha") if event["at"].startswith(TUE)]
    assert [[(why["rule"], why["value"]) for why in row["reasons"]] for row in late["decisions"]] == [[("monthly_orders", "3")]]
    assert [order.symbol for order in played.orders] == ["AAA", "BBB"]


def test_while_the_log_cannot_be_reached_nothing_is_approved_and_then_what_was_used_up_still_is(tmp_path: Path) -> None:
    stage = Stage(tmp_path).rules(orders=2)
    arguments = stage.arguments("", {"alpha": {MON: BOUGHT, TUE: ONE_MORE}}, days=2)
    with running(stage.desk, *arguments) as process, Watcher(stage.desk) as watcher:
        watcher.wait_for_type("RunEnded")
        children = children_of(process.pid)
        stop(children["nats-server"])
        os.kill(children["gate"], signal.SIGKILL)
        wait_for(lambda: children_of(process.pid).get("gate") not in {None, children["gate"]})
        os.kill(children["nats-server"], signal.SIGCONT)
        finish(process)
    played = stage.looked_at(process.returncode, "", "")

    (late,) = [event["data"] for event in played.log.of("Verdict", "alpha") if event["at"].startswith(TUE)]
    assert [[why["rule"] for why in row["reasons"]] for row in late["decisions"]] == [["monthly_orders"]]
    assert [order.symbol for order in played.orders] == ["AAA", "BBB"]
