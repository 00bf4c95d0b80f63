"""`propdesk run` over the real processes: what it prints, and that it prints the same whatever happens around it."""

import csv
import itertools
import json
import os
import re
import signal
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.desk.cancels import drills, flood
from tests.support.checker import Auditor
from tests.support.desks import Message, Watcher, children_of, command, facts, finish, read_log, run_json, running, stop, wait_for
from tests.support.runs import DAYS, Finished, finished
from tests.support.simulators import DATA, broker_account

AMOUNT = re.compile(r"-?[0-9]+\.[0-9]{2}")
FROZEN_S = 20
CANCELS = 40
LEAST_CANCELS = 3
"""So many of them must come in time, or the test would show nothing; how many do depends on how busy the machine is."""


def book(result: dict[str, Any], name: str) -> dict[str, Any]:
    return next(row for row in result["books"] if row["book"] == name)


def test_the_result_has_the_documented_shape(plain: Finished) -> None:
    result = plain.result
    assert list(result) == ["books", "events", "seconds", "last_seq", "state_hash"]
    assert [row["book"] for row in result["books"]] == ["equal_weight", "momentum", "rule_breaker"]
    assert result["events"] == result["last_seq"] == len(plain.log)
    for row in result["books"]:
        assert list(row) == ["book", "value", "return_pct", "max_drawdown_pct", "orders", "fees", "state_hash"]
        assert list(row["orders"]) == ["proposed", "approved", "blocked", "filled"]
        assert all(AMOUNT.fullmatch(row[name]) for name in ("value", "return_pct", "max_drawdown_pct", "fees"))
        assert row["orders"]["proposed"] == row["orders"]["approved"] + row["orders"]["blocked"]


def test_the_well_behaved_books_trade_and_the_rule_breaker_is_blocked_with_reasons(plain: Finished) -> None:
    assert book(plain.result, "equal_weight")["orders"]["filled"] > 0
    assert book(plain.result, "momentum")["orders"]["filled"] > 0
    breaker = book(plain.result, "rule_breaker")
    assert breaker["orders"] == {"proposed": 40, "approved": 0, "blocked": 40, "filled": 0}
    assert (breaker["value"], breaker["fees"]) == ("10000.00", "0.00")

    verdicts = [m.event for m in plain.log if m.subject == "ev.gate.rule_breaker.Verdict"]
    rules = [verdict["data"]["decisions"][0]["reasons"][0]["rule"] for verdict in verdicts]
    cycle = ["instrument", "price_collar", "position", "whole_shares", "quantity", "holding"]
    assert rules == [cycle[i % 6] for i in range(40)]


def test_the_printed_hash_is_that_of_the_last_hash_events(plain: Finished) -> None:
    hashed = [m.event for m in plain.log if m.subject.endswith(".StateHashed") and m.event["data"]["seq"] is None]
    assert len(hashed) == 3 * int(DAYS)
    session = hashed[-1]["data"]["session"]
    of_last = [event for event in hashed if event["data"]["session"] == session]  # the journal may lag, not the others
    assert [event["data"]["state_hash"] for event in of_last] == [plain.result["state_hash"]] * 3
    assert len({event["data"]["state_hash"] for event in hashed}) == int(DAYS)
    last = plain.log[-1]
    assert (last.event["by"]["service"], last.event["type"]) == ("journal", "StateHashed")


def test_the_journal_hashes_every_session_and_every_thousandth_sequence_and_finds_what_gate_and_executor_found(
    plain: Finished,
) -> None:
    hashed: dict[str, dict[str, str]] = {}
    for event in (m.event for m in plain.log if m.subject.endswith(".StateHashed")):
        hashed.setdefault(event["id"].split(":")[2], {})[event["by"]["service"]] = event["data"]["state_hash"]
    sessions = {about: found for about, found in hashed.items() if "-" in about}
    assert len(sessions) == int(DAYS)
    for found in sessions.values():
        assert set(found) == {"gate", "executor", "journal"}
        assert len(set(found.values())) == 1
    thousands = [about for about in hashed if "-" not in about]
    assert thousands == [str(seq) for seq in range(1000, len(plain.log) + 1, 1000)]
    assert all(set(hashed[about]) == {"journal"} for about in thousands)
    for about in thousands:
        done = command("replay", "--json", "--to", about, "--dir", str(plain.folder))
        assert json.loads(done.stdout)["state_hash"] == hashed[about]["journal"]


def test_an_auditor_that_knows_only_the_log_finds_no_breach_and_the_books_add_up_to_the_broker(plain: Finished) -> None:
    auditor = audited(plain.folder, plain.log)
    assert auditor.approvals > 20
    assert auditor.blocks >= 40
    assert auditor.fills > 20


def test_the_clock_moves_only_when_nothing_is_outstanding(plain: Finished) -> None:
    """At every clock step the log shows no run but those whose orders all rest at the broker or have ended."""
    runs: dict[str, dict[str, str]] = {}
    for message in plain.log:
        event = message.event
        kind, run, data = event["type"], event["run"], event["data"]
        if kind == "ClockAdvanced":
            for name, orders in runs.items():
                assert "OrderPlaced" in orders.values(), f"{event['id']} came while {name} was at work"
                assert set(orders.values()) <= {"OrderPlaced", "OrderClosed", "OrderWithheld"}, f"{event['id']}: {name} {orders}"
            assert data["step"] != "slot" or not runs
        elif kind == "RunStarted":
            runs[run] = {}
        elif kind == "RunEnded":
            assert set(runs.pop(run).values()) <= {"OrderClosed", "OrderWithheld"}
        elif kind == "Verdict":
            runs[run] = {row["order"]: "approved" for row in data["decisions"] if row["approved"]}
        elif kind in {"OrderIntended", "OrderPlaced", "OrderClosed", "OrderWithheld"}:
            runs[run][data["order"]] = kind
    assert runs == {}


@pytest.mark.parametrize(
    "env",
    [
        {"PYTHONHASHSEED": "1", "TZ": "Pacific/Kiritimati", "LC_ALL": "C"},
        {"PYTHONHASHSEED": "4242", "TZ": "America/Los_Angeles", "LC_ALL": "C.UTF-8"},
    ],
)
def test_hash_seed_time_zone_and_locale_change_nothing(plain: Finished, tmp_path: Path, env: dict[str, str]) -> None:
    other = finished(tmp_path / "desk", "--days", DAYS, env=env)
    assert other.result["state_hash"] == plain.result["state_hash"]
    assert [row["state_hash"] for row in other.result["books"]] == [row["state_hash"] for row in plain.result["books"]]
    assert facts(other.log) == facts(plain.log)
    assert other.result["events"] == plain.result["events"]


@pytest.mark.parametrize(("service", "steps"), [("executor", 1), ("gate", 1), ("agent", 2)])
def test_a_service_that_stands_still_for_twenty_seconds_only_makes_time_stand_still(
    plain: Finished, tmp_path: Path, service: str, steps: int
) -> None:
    """Its last word may have made a step quiet, so one more can begin; a close step after which no run is open needs no agent."""
    folder = tmp_path / "desk"
    with running(folder, "--days", DAYS) as process, Watcher(folder) as watcher:
        watcher.wait_for_type("FillSettled")
        pid = children_of(process.pid)[service]
        stop(pid)
        frozen_at = watcher.last()
        time.sleep(FROZEN_S / 2)
        halfway = watcher.last()
        time.sleep(FROZEN_S / 2)
        later = watcher.last()
        assert children_of(process.pid)[service] == pid
        os.kill(pid, signal.SIGCONT)
        result = finish(process)
    log = read_log(folder)
    assert frozen_at is not None
    assert halfway is not None
    assert later is not None
    assert later.seq == halfway.seq < len(log)
    meanwhile = [message.event for message in log[frozen_at.seq : later.seq]]
    assert sum(event["type"] == "ClockAdvanced" for event in meanwhile) <= steps
    assert not any(event["by"]["service"] == service for event in meanwhile[1:])
    assert result["state_hash"] == plain.result["state_hash"]
    assert facts(log) == facts(plain.log)
    assert result["events"] == plain.result["events"]


def test_the_clock_does_not_wait_for_a_journal_that_stands_still_but_the_end_of_the_run_does(
    plain: Finished, tmp_path: Path
) -> None:
    folder = tmp_path / "desk"
    last_session = next(m.event["data"]["session"] for m in reversed(plain.log) if m.event["type"] == "ClockAdvanced")
    with running(folder, "--days", DAYS) as process, Watcher(folder) as watcher:
        watcher.wait_for_type("FillSettled")
        journal = children_of(process.pid)["journal"]
        stop(journal)
        before = watcher.last("ev.journal.>")
        for author in ("gate", "executor"):
            wait_for(lambda author=author: _hashed(watcher, author) == last_session)
        behind = watcher.last("ev.journal.>")
        assert process.poll() is None
        os.kill(journal, signal.SIGCONT)
        result = finish(process)
    assert before == behind
    assert result["state_hash"] == plain.result["state_hash"]
    assert facts(read_log(folder)) == facts(plain.log)
    assert result["events"] == plain.result["events"]


def _hashed(watcher: Watcher, author: str) -> Any:
    found = watcher.last(f"ev.{author}.*.StateHashed")
    return found and found.event["data"]["session"]


def an_order_each_session(target: Path, symbol: str, days: int) -> None:
    """Orders that rest all day: a BUY of one share 1 % under the close before, for each of the last sessions of the data."""
    with DATA.open() as given:
        closes = [(row["date"], Decimal(row["close"])) for row in csv.DictReader(given) if row["symbol"] == symbol][-days - 1 :]
    lines = []
    for (_, before), (day, _) in itertools.pairwise(closes):
        limit = (before * Decimal("0.99")).quantize(Decimal("0.01"))
        order = {"symbol": symbol, "currency": "USD", "side": "BUY", "quantity": "1", "limit": str(limit)}
        lines.append(json.dumps({"date": day, "orders": [order]}))
    target.write_text("\n".join(lines) + "\n")


def test_an_operators_cancel_at_any_moment_neither_hangs_nor_breaks_the_run(tmp_path: Path) -> None:
    folder, orders = tmp_path / "desk", tmp_path / "orders.jsonl"
    an_order_each_session(orders, "KO", 60)
    with running(folder, "--days", "60", "--source", f"file:{orders}@daily") as process:
        commands = flood(folder, CANCELS)
        result = finish(process)
    log = read_log(folder)
    found = list(drills(log))
    accepted = [command for command in commands if command.accepted]

    assert sorted(drill.order for drill in found) == sorted(command.order for command in accepted)
    assert len(accepted) >= LEAST_CANCELS, [command.answers for command in commands]
    assert all(first == second for first, second in (command.answers for command in accepted) if "seq" in first)
    refusals = {command.answers[1]["error"]["code"] for command in commands if not command.accepted}
    assert refusals <= {"unknown_order", "order_ended"}
    for drill in found:
        assert drill.end == "cancelled" or drill.filled or drill.after_close, drill
    cancelled = [drill.stage for drill in found if drill.end == "cancelled"]
    assert len(cancelled) >= LEAST_CANCELS
    assert {"Verdict", "OrderIntended"} <= set(cancelled)

    audited(folder, log)
    assert result["events"] == result["last_seq"] == len(log)
    assert result["books"][0]["orders"]["approved"] == 60


def audited(folder: Path, log: list[Message]) -> Auditor:
    """An auditor that has read the whole log and asked the broker, and found nothing."""
    auditor = Auditor()
    for message in log:
        auditor.read(message.subject, message.payload)
    account = broker_account(folder)
    auditor.against_broker(account.positions, account.cash, Decimal(1_000_000))
    assert auditor.breaches == []
    return auditor


def test_replay_gives_the_same_hash_and_the_same_tables_also_without_the_database(plain: Finished) -> None:
    import sqlite3

    database = plain.folder / "journal.db"

    def rows() -> dict[str, list[tuple[Any, ...]]]:
        with sqlite3.connect(database) as connection:
            names = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table' order by name")]
            return {name: sorted(connection.execute(f'select * from "{name}"').fetchall(), key=repr) for name in names}

    before = rows()
    assert sum(map(len, before.values())) > 1000
    for remove in (False, True):
        if remove:
            for path in plain.folder.glob("journal.db*"):
                path.unlink()
        done = command("replay", "--json", "--dir", str(plain.folder))
        assert done.returncode == 0, done.stderr
        replayed = json.loads(done.stdout)
        assert list(replayed) == ["events", "seconds", "last_seq", "state_hash"]
        assert (replayed["last_seq"], replayed["state_hash"]) == (plain.result["last_seq"], plain.result["state_hash"])
        assert rows() == before


def test_an_interrupted_run_resumes_to_the_same_result(plain: Finished, tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    for ending, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        with running(folder, "--days", DAYS) as process, Watcher(folder) as watcher:
            seen = watcher.last("ev.desk._desk.ClockAdvanced")
            watcher.wait_for_type("FillSettled", seen.event["at"][:10] if seen else "")
            started = children_of(process.pid)
            process.send_signal(ending)
            _, err = process.communicate(timeout=30)
        assert process.returncode == code, err
        assert all(not Path(f"/proc/{pid}").exists() for pid in started.values())
    result = run_json(folder, "--days", DAYS)
    assert result["state_hash"] == plain.result["state_hash"]
    assert facts(read_log(folder)) == facts(plain.log)
    assert result["events"] == plain.result["events"]


def test_a_finished_run_and_other_arguments_are_refused_naming_fresh_and_fresh_deletes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    first = run_json(folder, "--days", "3")
    for args in (("--days", "3"), ("--days", "4"), ("--days", "3", "--seed", "9")):
        again = command("run", "--json", "--dir", str(folder), *args)
        assert again.returncode == 2
        assert again.stdout == ""
        assert "--fresh" in again.stderr
    assert run_json(folder, "--days", "3", "--fresh")["state_hash"] == first["state_hash"]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_second_run_in_the_same_directory_is_refused_with_the_pid_of_the_first(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    with running(folder, "--days", DAYS) as process, Watcher(folder) as watcher:
        watcher.wait_for_type("RunStarted")
        second = command("run", "--json", "--dir", str(folder), "--days", DAYS)
        finish(process)
    assert second.returncode == 2
    assert str(process.pid) in second.stderr
