"""kill -9 at chosen moments of a run: it ends as if nothing had happened."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from tests.support.desks import Message, Watcher, children_of, command, facts, finish, read_log, run_json, running, stop, wait_for
from tests.support.runs import DAYS, Finished
from tests.support.simulators import broker_account


def child(supervisor: int, service: str) -> int:
    return wait_for(lambda: children_of(supervisor).get(service))  # type: ignore[no-any-return]


def kill_between(watcher: Watcher, pid: int, kinds: set[str], subject: str) -> Message:
    """Freeze the process when the newest event of its author is one of `kinds`, look again, and kill it only if it still is."""

    def probe() -> Message | None:
        seen = watcher.last(subject)
        if seen is None or seen.event["type"] not in kinds:
            return None
        stop(pid)
        seen = watcher.last(subject)
        if seen is not None and seen.event["type"] in kinds:
            os.kill(pid, signal.SIGKILL)
            return seen
        os.kill(pid, signal.SIGCONT)
        return None

    return wait_for(probe, every_s=0.001)  # type: ignore[no-any-return]


def unchanged(plain: Finished, folder: Path, state_hash: str) -> None:
    assert state_hash == plain.result["state_hash"]
    log = read_log(folder)
    assert facts(log) == facts(plain.log)
    assert len(log) == len(plain.log)
    orders = broker_account(folder).orders
    assert orders
    assert set(orders.values()) == {1}


@pytest.mark.parametrize("kinds", [{"OrderIntended"}, {"OrderIntended", "OrderPlaced"}])
def test_an_executor_killed_between_intent_and_end_of_an_order_sends_nothing_twice(
    plain: Finished, tmp_path: Path, kinds: set[str]
) -> None:
    folder = tmp_path / "desk"
    with running(folder, "--days", DAYS) as process, Watcher(folder) as watcher:
        killed_at = kill_between(watcher, child(process.pid, "executor"), kinds, "ev.executor.>")
        result = finish(process)
    print(f"killed after {killed_at.seq} {killed_at.event['id']}")
    assert killed_at.event["type"] in kinds
    unchanged(plain, folder, result["state_hash"])


@pytest.mark.parametrize(
    ("service", "kinds", "subject"),
    [
        ("gate", {"MarketObserved"}, "ev.>"),
        ("agent", {"RunCleared"}, "ev.>"),
        ("journal", {"Verdict"}, "ev.>"),
        ("simulator", {"OrderIntended"}, "ev.>"),
        ("nats-server", {"FillSettled"}, "ev.>"),
    ],
)
def test_a_service_killed_in_the_middle_of_its_work_changes_nothing(
    plain: Finished, tmp_path: Path, service: str, kinds: set[str], subject: str
) -> None:
    folder = tmp_path / "desk"
    with running(folder, "--days", DAYS) as process, Watcher(folder) as watcher:
        watcher.wait_for_type("FillSettled")
        pid = child(process.pid, service)
        if service == "nats-server":
            killed_at = watcher.last()
            os.kill(pid, signal.SIGKILL)
        else:
            killed_at = kill_between(watcher, pid, kinds, subject)
        result = finish(process)
    assert killed_at is not None
    print(f"{service} killed after {killed_at.seq} {killed_at.event['id']}")
    unchanged(plain, folder, result["state_hash"])


def test_a_supervisor_killed_leaves_no_process_behind_and_the_run_resumes(plain: Finished, tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    with running(folder, "--days", DAYS) as process, Watcher(folder) as watcher:
        watcher.wait_for_type("FillSettled")
        children = children_of(process.pid)
        process.kill()
        process.communicate()
    assert len(children) == 6
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children.values()), 10)
    result = run_json(folder, "--days", DAYS)
    unchanged(plain, folder, result["state_hash"])


def test_a_log_that_vanished_while_the_broker_remembers_is_noticed_with_both_times(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    with running(folder, "--days", DAYS) as process, Watcher(folder) as watcher:
        watcher.wait_for_type("FillSettled")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    clock = [m.event["data"]["to"] for m in read_log(folder) if m.subject.endswith(".ClockAdvanced")]
    shutil.rmtree(folder / "js")
    shutil.rmtree(folder / "services")  # else it is noticed before anything is started
    journal = folder / "journal.db"
    journal.unlink(missing_ok=True)

    done = command("run", "--json", "--no-serve", "--dir", str(folder), "--days", DAYS)

    assert done.returncode == 3, done.stderr
    assert done.stdout == ""
    failed = [m.event for m in read_log(folder) if m.subject.endswith(".ReconciliationFailed")]
    assert len(failed) == 1
    difference = failed[0]["data"]["differences"][0]
    assert difference["found"] == clock[-1]
    assert difference["expected"] in clock[:2], "the new log is at its first session"
    assert all(time in done.stderr for time in (difference["found"], difference["expected"]))
