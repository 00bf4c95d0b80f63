"""The server comes back on another store while everybody is connected: they look before they write, and stop for good."""

import json
import os
import shutil
import signal
from pathlib import Path

from tests.faults.log.damage import DAYS, Desk
from tests.support.desks import Watcher, children_of, running, stop, wait_for


def exchange_store(server: int, js: Path, instead: Path | None) -> None:
    """Put another store, or none, under a server that stands still, and kill it; the supervisor starts it again."""
    stop(server)
    (js / "jetstream").rename(js / "taken")
    if instead is not None:
        shutil.copytree(instead, js / "jetstream")
    os.kill(server, signal.SIGKILL)


def stopped(desk: Desk, instead: Path | None) -> str:
    """Exchange the store in the middle of a run: it must end with 1 and start nothing again; what it said."""
    with running(desk.folder, "--days", DAYS) as process:
        with Watcher(desk.folder) as watcher:
            wait_for(lambda: watcher.wait_for_type("FillSettled").seq > desk.last_seq)
        exchange_store(children_of(process.pid)["nats-server"], desk.folder / "js", instead)
        out, said = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert "propdesk: the log is incomplete: " in said
    assert not any(f"{name} ended" in said for name in ("gate", "executor", "agent", "journal")), "somebody was started again"
    assert json.loads((desk.folder / "stopped.json").read_text())["reason"]
    return said


def test_an_emptied_store_stops_the_desk_and_stays_empty(desk: Desk) -> None:
    assert "there is no stream EV" in stopped(desk, None)
    assert desk.blocks == []


def test_an_older_copy_of_the_own_store_stops_the_desk_naming_what_is_lost(desk: Desk, halfway: Desk) -> None:
    before = [block.read_bytes() for block in halfway.blocks]
    said = stopped(desk, halfway.folder / "js" / "jetstream")
    assert f"the log ends at sequence {desk.last_seq}" in said
    assert f"sequences {desk.last_seq + 1} to " in said
    assert [block.read_bytes() for block in desk.blocks] == before
