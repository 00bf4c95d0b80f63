"""A gate and an executor that were stopped for a while and come back beside their successor: they write and send nothing."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.desks import Watcher, children_of, facts, finish, read_log, running, stop, wait_for
from tests.support.runs import DAYS, Finished
from tests.support.simulators import ask, broker_account

KINDS = {"gate": {"MarketObserved"}, "executor": {"OrderIntended", "OrderPlaced"}}
SUBJECTS = {"gate": "ev.>", "executor": "ev.executor.>"}


def environment_of(pid: int) -> dict[str, str]:
    """What a process was started with, without its supervisor: who starts it by hand is another parent."""
    entries = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    found = dict(entry.split("=", 1) for entry in entries if "=" in entry)
    del found["PROPDESK_PARENT_PID"]
    return found


def stopped_at_work(watcher: Watcher, pid: int, service: str) -> int:
    """Freeze the service while the newest event is one that it has to answer; the event's sequence."""

    def probe() -> int | None:
        seen = watcher.last(SUBJECTS[service])
        if seen is None or seen.event["type"] not in KINDS[service]:
            return None
        stop(pid)
        seen = watcher.last(SUBJECTS[service])
        if seen is not None and seen.event["type"] in KINDS[service]:
            return seen.seq
        os.kill(pid, signal.SIGCONT)
        return None

    return int(wait_for(probe, every_s=0.001))


def wrote(watcher: Watcher, service: str, pid: int) -> bool:
    """Whether the newest event of the service is by this process."""
    newest = watcher.last(f"ev.{service}.>")
    return newest is not None and str(newest.event["by"]["instance"]).startswith(f"{pid}-")


@contextlib.contextmanager
def frozen(pid: int) -> Iterator[None]:
    """A service that stands still, and with it the desk."""
    stop(pid)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def another(pid: int, service: str, log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """One more process of the service, started by hand with the same environment."""
    environment = environment_of(pid)
    python = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[0]
    with log.open("wb") as file:
        process = subprocess.Popen([python, "-P", "-m", f"services.{service}"], env=environment, stderr=file)
    try:
        yield process
    finally:
        process.kill()
        process.wait(20)


def drop_session(folder: Path) -> None:
    """End the executor's connection at the simulator, as an operator would."""
    port = int((folder / "broker" / "port").read_text())
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rw") as lines:
        ask(lines, 1, "hello", client="operator")
        assert ask(lines, 2, "drop_session", client="executor")["dropped"] is True


def instances(folder: Path, service: str) -> list[tuple[int, int]]:
    """Sequence and pid of everything that processes of the service wrote."""
    events = [(message.seq, message.event["by"]) for message in read_log(folder) if message.subject.startswith(f"ev.{service}.")]
    return [(seq, int(by["instance"].split("-")[0])) for seq, by in events]


@pytest.mark.parametrize("service", ["gate", "executor"])
@pytest.mark.parametrize("pause_s", [5, pytest.param(60, marks=pytest.mark.long)])
def test_a_service_that_comes_back_after_another_took_over_writes_and_sends_nothing(
    plain: Finished, tmp_path: Path, service: str, pause_s: int
) -> None:
    folder = tmp_path / "desk"
    with running(folder, "--days", DAYS) as process:
        with Watcher(folder) as watcher:
            watcher.wait_for_type("FillSettled")
            children = children_of(process.pid)
            stale = children[service]
            stopped_after = stopped_at_work(watcher, stale, service)
            if service == "executor":
                drop_session(folder)
            with another(stale, service, folder / "another.log") as successor:
                wait_for(lambda: wrote(watcher, service, successor.pid))
                with frozen(children["agent"]):  # else the run would be over before the stopped one comes back
                    time.sleep(pause_s)
                    os.kill(stale, signal.SIGCONT)
                    wait_for(lambda: not Path(f"/proc/{stale}").exists(), 30)
                    successor.terminate()
                    successor.wait(20)
        result = finish(process)

    written = instances(folder, service)
    first = next(seq for seq, pid in written if pid == successor.pid)
    assert [seq for seq, pid in written if pid == stale and seq > first] == []
    assert f"{service}: Fenced: " in (folder / "logs" / f"{service}.log").read_text()
    assert result["state_hash"] == plain.result["state_hash"]
    assert facts(read_log(folder)) == facts(plain.log)
    assert set(broker_account(folder).orders.values()) == {1}
    print(json.dumps({"service": service, "stopped after": stopped_after, "taken over at": first}))
