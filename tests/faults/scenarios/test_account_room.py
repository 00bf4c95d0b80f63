"""Four sources, eight orders, room for one on the account: real processes, the gate killed, and two gates."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.scenarios.stage import MON, Stage
from tests.support.desks import Watcher, children_of, finish, running, stop, wait_for

TWO = [("BUY", "AAA", 10, "101"), ("BUY", "BBB", 20, "50.5")]
BOOKS = {name: {MON: TWO} for name in ("alpha", "beta", "gamma", "delta")}
# an order is worth 1010, the account 40000
LIMITS = {"max_gross_pct = 4": "gross_exposure", "max_orders_per_day = 1": "daily_orders"}


def check(stage: Stage, code: int, rule: str) -> None:
    """One order was approved and sent; the log has one verdict for each book."""
    played = stage.looked_at(code, "", "")
    decisions = [row for verdict in played.log.data("Verdict") for row in verdict["decisions"]]
    assert (code, len(played.log.of("Verdict")), len(decisions)) == (0, 4, 8)
    assert [row["approved"] for row in decisions] == [True] + [False] * 7
    assert {tuple(why["rule"] for why in row["reasons"]) for row in decisions[1:]} == {(rule,)}
    assert [(order.symbol, str(order.filled)) for order in played.orders] == [("AAA", "10")]


@pytest.mark.parametrize("limit", LIMITS)
def test_the_gate_killed_right_behind_its_first_verdict_approves_nothing_more(tmp_path: Path, limit: str) -> None:
    stage = Stage(tmp_path).rules(account=limit)
    with running(stage.desk, *stage.arguments("", BOOKS, days=1)) as process, Watcher(stage.desk) as watcher:
        gate = wait_for(lambda: children_of(process.pid).get("gate"))
        wait_for(lambda: watcher.last("ev.gate.*.Verdict"), every_s=0.001)
        os.kill(gate, signal.SIGKILL)
        finish(process)
    check(stage, process.returncode, LIMITS[limit])


def test_two_gates_at_once_approve_one_order_between_them(tmp_path: Path) -> None:
    stage = Stage(tmp_path).rules(account="max_orders_per_day = 1")
    with running(stage.desk, *stage.arguments("", BOOKS, days=1)) as process, Watcher(stage.desk) as watcher:
        gate = wait_for(lambda: children_of(process.pid).get("gate"))
        wait_for(lambda: watcher.last("ev.gate.*.RunCleared"), every_s=0.001)
        stop(gate)
        second = second_gate(gate, tmp_path)
        try:
            # the first one stands still until the second has judged, and finds a log that has moved on when it wakes
            wait_for(lambda: watcher.last("ev.gate.*.Verdict"), every_s=0.001)
            os.kill(gate, signal.SIGCONT)
            finish(process)
        finally:
            second.kill()
            second.communicate()
    check(stage, process.returncode, "daily_orders")
    writers = {event["by"]["instance"] for event in stage.looked_at(0, "", "").log.all if event["by"]["service"] == "gate"}
    assert len(writers) >= 2


def second_gate(first: int, folder: Path) -> "subprocess.Popen[bytes]":
    """Another gate with the keys and the log of the first one, and a memory of its own."""
    rows = Path(f"/proc/{first}/environ").read_bytes().split(b"\0")
    told = dict(row.decode().split("=", 1) for row in rows if b"=" in row)
    told.pop("PROPDESK_PARENT_PID")
    state = folder / "second"
    state.mkdir()
    command = (sys.executable, "-P", "-m", "services.gate")
    return subprocess.Popen(command, env={**told, "PROPDESK_STATE_DIR": str(state)}, stderr=subprocess.DEVNULL)
