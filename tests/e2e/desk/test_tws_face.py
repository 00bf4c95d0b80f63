"""A desk whose executor trades over the TWS socket: every fact as over JSON lines, also when executor and gateway are killed."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.support.desks import children_of, command, facts, finish, read_log, running, wait_for
from tests.support.runs import Finished, finished
from tests.support.simulators import broker_account

DAYS = "4"
TWS = {"PROPDESK_BROKER_FACE": "tws"}


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """The run as it has always been."""
    return finished(tmp_path_factory.mktemp("lines") / "desk", "--days", DAYS)


def test_every_fact_is_the_same_over_the_socket_and_the_brokers_books_are_too(tmp_path: Path, lines: Finished) -> None:
    over_tws = finished(tmp_path / "desk", "--days", DAYS, env=TWS)
    assert over_tws.result["state_hash"] == lines.result["state_hash"]
    assert facts(over_tws.log) == facts(lines.log)
    ours, theirs = broker_account(tmp_path / "desk"), broker_account(lines.folder)
    assert (ours.positions, ours.cash, ours.orders) == (theirs.positions, theirs.cash, theirs.orders)
    assert max(ours.orders.values()) == 1


@pytest.mark.parametrize("victim", ["executor", "simulator"])
def test_kills_of_the_executor_and_of_the_gateway_change_no_fact(
    tmp_path: Path, lines: Finished, victim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROPDESK_BROKER_FACE", "tws")
    folder, killed = tmp_path / "desk", 0
    with running(folder, "--days", DAYS) as process:
        for _ in range(3):
            pid = wait_for(lambda: process.poll() is not None or children_of(process.pid).get(victim))
            if process.poll() is not None:
                break
            wait_for(lambda: process.poll() is not None or _has_grown(folder))
            try:
                os.kill(pid, signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                continue
        result = finish(process)
    assert killed
    assert result["state_hash"] == lines.result["state_hash"]
    assert facts(read_log(folder)) == facts(lines.log)
    assert max(broker_account(folder).orders.values()) == 1


def _has_grown(folder: Path, seen: dict[Path, int] = {}) -> bool:  # noqa: B006
    """Whether the broker took one more command since the last look."""
    journal = folder / "broker" / "journal.jsonl"
    size = journal.stat().st_size if journal.exists() else 0
    before = seen.get(folder, 0)
    if size > before:
        seen[folder] = size
    return size > before > 0


def test_an_unknown_face_is_refused(tmp_path: Path) -> None:
    done = command("run", "--json", "--dir", str(tmp_path / "desk"), "--days", "1", env={"PROPDESK_BROKER_FACE": "fix"})
    assert done.returncode == 2
    assert "PROPDESK_BROKER_FACE is 'fix': it is lines (the default) or tws" in done.stderr
    assert json.loads(done.stdout or "{}") == {}
