"""Commands beside and after a run that was interrupted."""

import json
import os
import signal
from pathlib import Path
from typing import Any

from tests.support.desks import Watcher, children_of, command, finish, run_json, running, stop, wait_for

ARGS = ("--days", "3", "--source", "equal_weight")


def document(*args: str, folder: Path) -> dict[str, Any]:
    """A `--json` command's one document."""
    done = command(*args, "--json", "--dir", str(folder))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def test_an_order_of_an_interrupted_run_is_cancelled_once_and_the_resumed_run_carries_it_out(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    with running(folder, *ARGS) as process, Watcher(folder) as watcher:
        watcher.wait_for_type("OrderPlaced")
        os.kill(children_of(process.pid)["executor"], signal.SIGKILL)  # until it is back nothing ends the order
        placed = watcher.wait_for_type("OrderPlaced")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert process.returncode == 143
    order = placed.event["data"]["order"]
    document("replay", folder=folder)
    status = document("status", folder=folder)
    assert status["running"] is None
    assert order in [row["order"] for row in status["open_orders"]]

    cancel = ("cancel", order, "--reason", "a drill", "--request", "drill-1")
    first = document(*cancel, folder=folder)
    assert first["event"] == "desk:CancelOrdered:drill-1"
    assert document(*cancel, folder=folder) == first
    unknown = command("cancel", "20221223T1030-nobody-1-1", "--reason", "a drill", "--dir", str(folder))
    assert unknown.returncode == 2
    assert "no order 20221223T1030-nobody-1-1" in unknown.stderr

    result = run_json(folder, *ARGS)
    ended = command("cancel", order, "--reason", "too late", "--dir", str(folder))
    assert ended.returncode == 2
    assert "cancelled" in ended.stderr
    assert document("replay", folder=folder)["state_hash"] == result["state_hash"]


def test_status_replay_and_cancel_work_beside_a_running_desk_whose_time_stands_still(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "desk"
    with running(folder, *ARGS) as process, Watcher(folder) as watcher:
        placed = watcher.wait_for_type("OrderPlaced")
        gate = children_of(process.pid)["gate"]
        stop(gate)
        wait_for(lambda: command("status", "--dir", str(folder)).returncode == 0)
        status = document("status", folder=folder)
        order = placed.event["data"]["order"]
        done = command("cancel", order, "--reason", "a drill", "--json", "--dir", str(folder))
        replayed = document("replay", "--to", "4", folder=folder)
        assert process.poll() is None
        os.kill(gate, signal.SIGCONT)
        finish(process)
    assert status["running"] == process.pid
    assert replayed["last_seq"] == 4
    if done.returncode == 0:
        assert json.loads(done.stdout)["event"].startswith("desk:CancelOrdered:cli-")
    else:
        assert "has ended already" in done.stderr
