"""Keys over the real processes: what an administrator places into the log, what an old key signs, and who is trusted."""

import hashlib
import json
import os
import signal
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from shared.bus.keys import Key, read_key
from shared.protocol.envelope import Draft, seal
from shared.protocol.events import Data, Decision, KeysAdopted, StateHashed, Verdict
from shared.protocol.money import Exact
from shared.protocol.signing import OPERATOR
from tests.support.desks import Message, Watcher, children_of, command, facts, inject, read_log, run_json, running, stop, wait_for
from tests.support.runs import Finished, finished

DAYS = "8"


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """An undisturbed run."""
    return finished(tmp_path_factory.mktemp("short") / "desk", "--days", DAYS)


def forged(log: list[Message], author: str, book: str, about: str, data: Data, key: Key, run: str | None = None) -> bytes:
    """An event as its author would write it next, signed with another key."""
    last = [message for message in log if message.subject.startswith(f"ev.{author}.")][-1]
    draft = Draft(author, book, about, log[-1].event["at"], log[-1].seq, data, run)  # type: ignore[arg-type]
    prev = hashlib.sha256(last.payload).hexdigest()
    return seal(draft, desk="default", instance="1-forger", n=last.event["n"] + 1, prev=prev, sign=key.sign)


def approving(run: str) -> Verdict:
    """A verdict that buys what nobody proposed."""
    one, price = Exact(1), Exact(100)
    order = Decision(1, "KO", "USD", "BUY", one, price, True, False, price, one, one, (), None, f"{run}-1")
    return Verdict("proposal", (order,), (), None, None, "p", "1", (), "2022-12-30T20:00:00.000000Z")


def interrupted(process: Any) -> None:
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)


def dropped(folder: Path) -> list[tuple[int, str]]:
    with sqlite3.connect(folder / "journal.db") as connection:
        return connection.execute("select seq, why from dropped order by seq").fetchall()


def alarmed(folder: Path, service: str) -> list[int]:
    """Sequences that a service has dropped with an alarm, by its log file."""
    lines = (folder / "logs" / f"{service}.log").read_text().splitlines()
    rows = [json.loads(line) for line in lines if line.startswith("{")]
    return [row["seq"] for row in rows if row.get("event") == "event dropped" and row["alarm"]]


def test_every_event_is_signed_and_the_keys_stand_right_behind_the_first_clock(short: Finished) -> None:
    types = [message.event["type"] for message in short.log]
    assert types[:3] == ["ClockAdvanced", "KeysAdopted", "PolicyAdopted"]
    assert types.count("KeysAdopted") == 1
    assert all(len(message.event["sig"]) == 86 for message in short.log)
    assert set(short.log[1].event["data"]["keys"]) == {
        *("desk", "executor", "gate", "journal"),
        *("agent/equal_weight", "agent/momentum", "agent/rule_breaker"),
    }


def test_a_verdict_with_the_agents_key_placed_by_an_administrator_is_named_and_not_acted_on(
    short: Finished, tmp_path: Path
) -> None:
    folder = tmp_path / "desk"
    with running(folder, "--days", DAYS) as process, Watcher(folder) as watcher:
        watcher.wait_for_type("FillSettled")
        gate = children_of(process.pid)["gate"]
        asked = wait_for(lambda: _frozen_before_a_verdict(watcher, gate))
        interrupted(process)
    log = read_log(folder)
    run, book = asked.event["run"], asked.event["book"]
    written = [message.event["id"] for message in log if not message.subject.startswith("ev.journal.")]  # it may lag behind
    assert written[-1] == asked.event["id"]
    agent = read_key(folder / "keys" / f"agent-{book}.nk")
    seq = inject(folder, f"ev.gate.{book}.Verdict", forged(log, "gate", book, run, approving(run), agent, run))

    result = run_json(folder, "--days", DAYS)

    assert result["state_hash"] == short.result["state_hash"]
    after = [message for message in read_log(folder) if message.seq != seq]
    assert facts(after) == facts(short.log)
    assert dropped(folder) == [(seq, "not signed with the key of gate that is in force")]
    for service in ("executor", "gate", "agent", "journal"):
        assert seq in alarmed(folder, service), service
    why = "not signed with the key of gate that is in force"
    status = command("status", "--dir", str(folder)).stdout
    assert f"no facts and count for nothing: 1; the newest stands at sequence {seq} ({why})" in status
    told = command("explain", run, "--dir", str(folder))
    assert told.stdout.endswith("left out: 1 message of that log that counts for nothing\n")
    assert told.stderr == ""


def _frozen_before_a_verdict(watcher: Watcher, gate: int) -> Message | None:
    """Freeze the gate when a proposal has come; the evidence for its verdict, once that stands in the log."""
    seen = watcher.last()
    if seen is None or seen.event["type"] != "ProposalMade":
        return None
    stop(gate)
    until = time.monotonic() + 2
    while time.monotonic() < until:
        last = watcher.last()
        if last and last.event["type"] == "MarketObserved" and last.event["data"]["purpose"] == "verdict":
            return last
        if last and last.event["type"] not in {"ProposalMade", "MarketObserved"}:
            break
    os.kill(gate, signal.SIGCONT)
    return None


def test_a_key_is_rotated_while_the_desk_runs_and_the_old_one_no_longer_counts(short: Finished, tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    with running(folder, "--days", DAYS) as process, Watcher(folder) as watcher:
        watcher.wait_for_type("FillSettled")
        executor = children_of(process.pid)["executor"]
        stop(executor)  # so that time stands still meanwhile
        old = read_key(folder / "keys" / "gate.nk")
        done = command("keys", "rotate", "gate", "--reason", "drill", "--json", "--dir", str(folder))
        os.kill(executor, signal.SIGCONT)
        assert done.returncode == 0, done.stderr
        at = json.loads(done.stdout)["seq"]
        wait_for(lambda: (found := watcher.last("ev.gate.>")) and found.seq > at)
        interrupted(process)
    assert read_key(folder / "keys" / "gate.nk").public != old.public
    log = read_log(folder)
    seq = inject(folder, "ev.gate._desk.StateHashed", forged(log, "gate", "_desk", "late", StateHashed("2022-12-28", "0"), old))

    result = run_json(folder, "--days", DAYS)

    assert result["state_hash"] == short.result["state_hash"]
    assert (seq, "not signed with the key of gate that is in force") in dropped(folder)
    shown = command("keys", "show", "--json", "--dir", str(folder))
    assert json.loads(shown.stdout)["keys"]["gate"] == read_key(folder / "keys" / "gate.nk").public


def test_keys_are_rotated_while_no_desk_runs_the_desks_own_too(short: Finished, tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    with running(folder, "--days", DAYS) as process, Watcher(folder) as watcher:
        watcher.wait_for_type("FillSettled")
        interrupted(process)
    for who in ("desk", "rule_breaker"):
        args = ("keys", "rotate", who, "--reason", "drill", "--request", f"r-{who}", "--json", "--dir", str(folder))
        first, again = command(*args), command(*args)
        assert first.returncode == again.returncode == 0, first.stderr + again.stderr
        assert first.stdout == again.stdout
    result = run_json(folder, "--days", DAYS)
    assert result["state_hash"] == short.result["state_hash"]
    assert [m.event["id"] for m in read_log(folder) if m.subject.endswith(".KeysAdopted")] == [
        "desk:KeysAdopted:_desk",
        "desk:KeysAdopted:r-desk",
        "desk:KeysAdopted:r-rule_breaker",
    ]
    junk = folder / "keys" / "gate.nk.new"
    junk.write_text("junk")
    junk.chmod(0o600)
    unusable = command("keys", "rotate", "gate", "--reason", "drill", "--dir", str(folder))
    assert unusable.returncode == 2
    assert f"{junk.name} is not usable: it holds no seed of a key; remove it, and rotate the key again" in unusable.stderr
    junk.unlink()
    other = command("keys", "rotate", "gate", "--reason", "drill", "--request", "r-desk", "--dir", str(folder))
    assert other.returncode == 2
    assert "request r-desk was another command" in other.stderr
    refused = command("keys", "rotate", "nobody", "--reason", "drill", "--dir", str(folder))
    assert refused.returncode == 2
    assert "no key of nobody is in force" in refused.stderr


def test_keys_under_another_root_end_the_run_and_name_both(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    with running(folder, "--days", DAYS) as process, Watcher(folder) as watcher:
        watcher.wait_for_type("RunStarted")
        interrupted(process)
    log, foreign = read_log(folder), Key.make(OPERATOR)
    keys = log[1].event["data"]["keys"]
    seq = inject(
        folder,
        "ev.desk._desk.KeysAdopted",
        forged(log, "desk", "_desk", "takeover", KeysAdopted(keys, foreign.public, "mine now"), foreign),
    )
    done = command("run", "--json", "--dir", str(folder), "--days", DAYS)
    assert (done.returncode, done.stdout) == (1, "")
    assert all(text in done.stderr for text in (f"sequence {seq}", foreign.public, log[1].event["data"]["root"]))


def test_the_configured_root_key_is_trusted_and_no_other(tmp_path: Path) -> None:
    folder, config = tmp_path / "desk", tmp_path / "propdesk.toml"
    made = command("keys", "init", "--json", "--dir", str(folder))
    root = json.loads(made.stdout)["keys"]["root"]
    config.write_text(f'[desk]\nroot_key = "{root}"\n')
    assert run_json(folder, "--days", "1")["events"] > 10
    for text, says in (
        (f'[desk]\nroot_key = "{Key.make(OPERATOR).public}"\n', "bring back the right one"),
        ('[desk]\nroot_key = "x"\n', "desk.root_key"),
        ('[desk]\nroot = "x"\n', "desk.root is not known"),
        ("[policy]\n", "policy is not known"),
        ("[desk\n", "cannot be read"),
    ):
        config.write_text(text)
        done = command("run", "--json", "--dir", str(folder), "--days", "2")
        assert (done.returncode, done.stdout) == (2, "")
        assert says in done.stderr


@pytest.mark.parametrize("fault", ["open", "malformed", "other"])
def test_key_files_that_must_not_be_used_are_refused_before_anything_is_started(tmp_path: Path, fault: str) -> None:
    folder = tmp_path / "desk"
    assert command("keys", "init", "--dir", str(folder)).returncode == 0
    path = folder / "keys" / "gate.nk"
    seed = path.read_text().strip()
    if fault == "open":
        path.chmod(0o644)
    elif fault == "malformed":
        path.write_text(seed[:-3])
    else:
        path.write_text((folder / "keys" / "root.nk").read_text())
    done = command("run", "--json", "--dir", str(folder), "--days", "1")
    assert (done.returncode, done.stdout) == (2, "")
    assert str(path) in done.stderr
    assert seed[5:20] not in done.stderr
    assert not (folder / "js" / "nats.conf").exists()


@pytest.mark.parametrize("name", ["gate", "desk"])
def test_a_lost_key_is_refused_by_name_and_replaced_by_a_rotation(short: Finished, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "desk"
    with running(folder, "--days", DAYS) as process, Watcher(folder) as watcher:
        watcher.wait_for_type("RunStarted")
        interrupted(process)
    (folder / "keys" / f"{name}.nk").unlink()
    done = command("run", "--json", "--dir", str(folder), "--days", DAYS)
    assert (done.returncode, done.stdout) == (2, "")
    assert ("(gate)" if name == "gate" else "of desk is not in force any more") in done.stderr
    rotated = command("keys", "rotate", name, "--reason", "lost", "--dir", str(folder))
    assert rotated.returncode == 0, rotated.stderr
    assert run_json(folder, "--days", DAYS)["state_hash"] == short.result["state_hash"]
