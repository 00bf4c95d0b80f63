"""kill -9 of everything, again and again, at moments drawn from a seed: the run ends as if nothing had happened."""

import contextlib
import os
import random
import signal
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.desks import Message, Watcher, children_of, facts, finish, read_log, running, wait_for
from tests.support.runs import DAYS, Finished, finished
from tests.support.simulators import broker_account

VICTIMS = ("executor", "gate", "agent", "journal", "simulator", "nats-server")
RUN_TIMEOUT_S = 900
PLACES = 12
"""Kinds of events behind which a hundred kills must have fallen; a run has some sixteen."""
LONG_DAYS = "200"
"""Long enough that the run does not come to its end while a process that was killed starts again."""


def kill_at(watcher: Watcher, process: "subprocess.Popen[str]", name: str, seq: int) -> Message | None:
    """Kill the process called `name` once the log has reached `seq`; the newest event before it, None if the run is over."""

    def reached() -> Message | bool:
        newest = watcher.last()
        return process.poll() is not None or (newest if newest is not None and newest.seq >= seq else False)

    newest = wait_for(reached, 120)
    if newest is True:
        return None
    pid = wait_for(lambda: ready_pid(watcher, process.pid, name) or process.poll() is not None, 60)
    if pid is True:
        return None
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return newest  # type: ignore[no-any-return]


def ready_pid(watcher: Watcher, supervisor: int, name: str) -> int | None:
    """The pid of a child that has come up: a service that dies ten times without being ready in between ends the run."""
    pid = children_of(supervisor).get(name)
    answers = name not in {"simulator", "nats-server"}
    return pid if pid and (not answers or watcher.is_ready(name, pid)) else None


@dataclass(frozen=True)
class Kills:
    """How often each process was killed, and how often behind each type of event."""

    victims: Counter[str]
    places: Counter[str]


def run_under_kills(plain: Finished, folder: Path, seed: int, kills: int, days: str = DAYS) -> Kills:
    """A run with `kills` kills spread over its events; asserts that nothing differs."""
    draw = random.Random(seed)
    step = (plain.result["last_seq"] - 60) // kills
    killed, places = Counter[str](), Counter[str]()
    with running(folder, "--days", days) as process, Watcher(folder) as watcher:
        for index in range(kills):
            name = draw.choice(VICTIMS)
            place = kill_at(watcher, process, name, 20 + index * step + draw.randrange(step))
            if place is None:
                break
            killed[name] += 1
            places[place.event["type"]] += 1
            print(f"seed {seed}: {name} killed at {place.seq} {place.event['id']}")
        result = finish(process, RUN_TIMEOUT_S)
    assert result["state_hash"] == plain.result["state_hash"]
    assert facts(read_log(folder)) == facts(plain.log)
    orders = broker_account(folder).orders
    assert set(orders.values()) == {1}
    assert killed.total() >= kills * 9 // 10, f"only {killed} of {kills} kills took place"
    print(f"seed {seed}: {killed.total()} kills of {dict(killed)} behind {dict(places)}")
    return Kills(killed, places)


def test_a_dozen_kills_over_a_run_change_nothing(plain: Finished, tmp_path: Path) -> None:
    run_under_kills(plain, tmp_path / "desk", seed=7, kills=12)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_a_hundred_kills_over_a_run_change_nothing(tmp_path: Path, seed: int) -> None:
    undisturbed = finished(tmp_path / "undisturbed", "--days", LONG_DAYS)
    killed = run_under_kills(undisturbed, tmp_path / "desk", seed, 100, LONG_DAYS)
    assert set(killed.victims) == set(VICTIMS)
    assert len(killed.places) >= PLACES, f"only behind {set(killed.places)}"
