"""Operator commands over the real processes: under the lock and in a running desk, repeated, at once, and refused."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.support.desks import PROPDESK, Watcher, children_of, command, read_log, run_json, running, stop, wait_for

BOOKS = ("--source", "equal_weight", "--source", "momentum")
WHY = ("--reason", "a drill")


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A desk whose run of three sessions is over; both books hold something or not, nothing runs."""
    folder = tmp_path_factory.mktemp("operator") / "desk"
    run_json(folder, "--days", "3", *BOOKS)
    return folder


def ask(folder: Path, *args: str) -> dict[str, Any]:
    """A command that is carried out; its answer."""
    done = command(*args, "--json", "--dir", str(folder))
    assert done.returncode == 0, f"{args}: {done.stderr}"
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def refused(folder: Path, *args: str) -> str:
    """A command that is refused; its one line."""
    done = command(*args, "--dir", str(folder))
    lines = done.stderr.splitlines()
    assert (done.returncode, done.stdout, len(lines)) == (2, "", 1), f"{args}: {done.returncode} {done.stdout} {done.stderr}"
    return lines[0]


def status(folder: Path) -> dict[str, Any]:
    return ask(folder, "status")


def test_a_repeated_request_is_one_event_also_days_later_and_its_id_stands_for_nothing_else(ended: Path) -> None:
    first = ask(ended, "deposit", "momentum", "2500.50", *WHY, "--request", "top-up")
    assert first["event"] == "desk:CashDeposited:top-up"
    assert ask(ended, "deposit", "momentum", "2500.5", *WHY, "--request", "top-up") == first
    assert "top-up was another command" in refused(ended, "deposit", "momentum", "2501", *WHY, "--request", "top-up")
    found = status(ended)
    assert found["last_seq"] == first["seq"]
    assert next(row["deposited"] for row in found["books"] if row["book"] == "momentum") == "12500.50"


def test_what_stands_is_shown_by_status_as_soon_as_it_is_ordered(ended: Path) -> None:
    ask(ended, "halt", "--book", "momentum", "--reduce-only", *WHY)
    ask(ended, "source", "pause", "equal_weight", "--reason", "holidays")
    standing = status(ended)["standing"]
    assert [(row["scope"], row["kind"], row["reason"]) for row in standing["halts"]] == [("momentum", "reduce_only", "a drill")]
    assert standing["paused"] == {"equal_weight": "holidays"}
    assert standing["reconciliation"]["agrees"] is True
    ask(ended, "reset", "--book", "momentum", "--keep-holdings", *WHY)
    ask(ended, "source", "resume", "equal_weight", *WHY)
    standing = status(ended)["standing"]
    assert (standing["halts"], standing["paused"]) == ([], {})


def test_a_new_book_is_opened_closed_and_never_opened_again(ended: Path) -> None:
    ask(ended, "deposit", "spare", "100", "--open", "--source", "hold", *WHY)
    ask(ended, "withdraw", "spare", "40", *WHY)
    assert "60 USD of spare are free" in refused(ended, "withdraw", "spare", "60.01", *WHY)
    ask(ended, "book", "close", "spare", *WHY)
    assert status(ended)["standing"]["closed"] == ["spare"]
    assert "a name is used once" in refused(ended, "deposit", "spare", "1", "--open", "--source", "hold", *WHY)


def test_two_commands_at_once_beside_a_stopped_desk_are_both_carried_out(ended: Path) -> None:
    before = status(ended)["last_seq"]
    both = [[str(PROPDESK), "deposit", "momentum", "1", "--json", *WHY, "--dir", str(ended)] for _ in range(2)]
    asked = [subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for args in both]
    answers = [one.communicate(timeout=90) for one in asked]
    assert [one.returncode for one in asked] == [0, 0], answers
    assert {json.loads(out)["seq"] for out, _ in answers} == {before + 1, before + 2}
    assert [err for _, err in answers] == ["", ""]


BAD = (
    (("halt",), "--reason"),
    (("halt", "--book", "momentum", "--all", *WHY), "exclude each other"),
    (("halt", "--book", "nobody", *WHY), "there is no book nobody: known are equal_weight, momentum"),
    (("halt", "--reason", " "), "a reason is needed"),
    (("reset", *WHY), "there is no halt"),
    (("flatten", *WHY), "--book BOOK, or --all"),
    (("deposit", "momentum", "0", *WHY), "amount must be above 0"),
    (("deposit", "momentum", "1e3", *WHY), "amount must be an amount as decimal text"),
    (("deposit", "momentum", "1", "--request", "a b", *WHY), "request must be an id"),
    (("withdraw", "momentum", "99999999", *WHY), "are free"),
    (("cancel", "20221228T1030-momentum-1-9", *WHY), "no order"),
    (("approve", "20221228T1030-momentum-1-9", *WHY), "waits for approval"),
    (("source", "resume", "momentum", *WHY), "is not paused"),
    (("book", "close", "Momentum", *WHY), "book must be a book's name"),
    (("adopt", *WHY), "say one of --baseline"),
    (("adopt", "--fee", "--baseline", *WHY), "say one of --baseline"),
    (("adopt", "--interest", *WHY), "nothing in USD is unexplained"),
    (("policy", "adopt", "no-such.toml", *WHY), "no-such.toml"),
)


def test_bad_input_gives_one_clear_line_and_changes_nothing(ended: Path) -> None:
    before = status(ended)["last_seq"]
    for args, says in BAD:
        line = refused(ended, *args)
        assert says in line, line
    assert status(ended)["last_seq"] == before


def test_a_policy_is_shown_compared_and_adopted_whole_and_a_broken_one_names_key_and_value(ended: Path, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    text = (Path(__file__).parents[3] / "services" / "desk" / "data" / "demo-policy.toml").read_text()
    good.write_text(text + '\n[policy.account]\nmax_gross_pct = "90"\n')
    bad.write_text(text.replace("[policy.limits]", '[policy.limits]\nmax_position_pct = "101"'))
    shown = ask(ended, "policy", "show")
    line = refused(ended, "policy", "adopt", str(bad), *WHY)
    assert all(word in line for word in ("bad.toml", "max_position_pct", "101", "(0, 100]"))
    diff = ask(ended, "policy", "diff", str(good))
    assert diff["changes"] == [{"key": "account.max_gross_pct", "old": "off (default)", "new": "90"}]
    done = ask(ended, "policy", "adopt", str(good), *WHY)
    assert "in force already" in refused(ended, "policy", "adopt", str(good), *WHY)
    after = ask(ended, "policy", "show")
    assert (after["seq"], after["policy_hash"]) == (done["seq"], diff["file"])
    assert after["policy_hash"] != shown["policy_hash"]
    policy = status(ended)["standing"]["policy"]
    assert (policy["seq"], policy["file"]["differs"]) == (done["seq"], True)


@contextmanager
def standing_still(folder: Path, *args: str, kind: str) -> Iterator[tuple[Watcher, Callable[[], tuple[int, str, str]]]]:
    """A run in which time stands still from the first event of a kind on, as its agent does.

    Gives what looks at it, and what lets it go on to its end: exit code, stdout, stderr.
    """
    with running(folder, *args) as process, Watcher(folder) as watcher:
        agent = wait_for(lambda: children_of(process.pid).get("agent"))
        watcher.wait_for_type(kind)
        stop(agent)

        def end() -> tuple[int, str, str]:
            os.kill(agent, signal.SIGCONT)
            out, err = process.communicate(timeout=240)
            return process.returncode, out, err

        try:
            yield watcher, end
        finally:
            with suppress(ProcessLookupError):
                os.kill(agent, signal.SIGCONT)


def test_commands_of_a_running_desk_are_its_own_events_and_two_at_once_under_one_id_are_one(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    with standing_still(folder, "--days", "12", *BOOKS, kind="FillSettled") as (watcher, end):
        halts = [[str(PROPDESK), "halt", "--json", "--request", "both", "--dir", str(folder), *WHY] for _ in range(2)]
        asked = [subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for args in halts]
        answers = [one.communicate(timeout=60) for one in asked]
        assert [one.returncode for one in asked] == [0, 0], answers
        first, second = (json.loads(out) for out, _ in answers)
        assert first == second
        withdrawn = ask(folder, "withdraw", "momentum", "1", *WHY, "--request", "one")
        assert "are free" in refused(folder, "withdraw", "momentum", "9999999", *WHY)
        stored = watcher.last("ev.desk.momentum.CashWithdrawn")
        assert stored is not None
        assert (stored.seq, stored.event["by"]["service"]) == (withdrawn["seq"], "desk")
        code, out, err = end()
    assert code == 0, err
    assert "full halt of the whole desk in force: a drill" in err
    assert json.loads(out)["books"]
    assert ask(folder, "withdraw", "momentum", "1", *WHY, "--request", "one") == withdrawn
    log = [message.event for message in read_log(folder)]
    at = first["seq"]
    assert sum(event["id"] == "desk:HaltOrdered:both" for event in log) == 1
    assert not [event for event in log[at:] if event["type"] == "OrderIntended"]
    stopped = [event["data"]["status"] for event in log[at:] if event["type"] == "RunStopped"]
    assert set(stopped) == {"halted"}


def test_shares_that_appear_by_themselves_block_buying_until_they_are_adopted(tmp_path: Path) -> None:
    folder, script = tmp_path / "desk", tmp_path / "scenario.toml"
    script.write_text('[[adjust]]\nsession = "2022-12-21"\nsymbol = "MSFT"\nquantity = "3"\n')
    args = ("--days", "6", "--scenario", str(script), *BOOKS)
    with standing_still(folder, *args, kind="ReconciliationFailed") as (_, end):
        told = refused(folder, "adopt", "--position", "MSFT", "--book", "nobody", *WHY)
        assert "there is no book nobody" in told
        ask(folder, "adopt", "--position", "MSFT", "--reason", "they were always mine")
        code, out, err = end()
    assert code == 3, err
    assert "runs failed" in err.replace("1 run failed", "1 runs failed")
    assert json.loads(out)["books"]
    found = status(folder)["standing"]["reconciliation"]
    assert (found["agrees"], found["baseline"]) == (True, {"MSFT:USD": "3"})


def test_a_difference_that_nobody_adopts_ends_the_run_with_3_and_every_line_after_the_whole_window(tmp_path: Path) -> None:
    folder, script = tmp_path / "desk", tmp_path / "scenario.toml"
    script.write_text('[[adjust]]\nsession = "2022-12-23"\nsymbol = "MSFT"\nquantity = "3"\n')
    done = command("run", "--json", "--dir", str(folder), "--days", "4", "--scenario", str(script), *BOOKS)
    assert done.returncode == 3
    assert "position MSFT:USD: expected" in done.stderr.splitlines()[-1]
    log = [message.event for message in read_log(folder)]
    failed = [n for n, event in enumerate(log) if event["type"] == "ReconciliationFailed"]
    assert log[failed[0]]["run"] is not None
    after = [event for event in log[failed[0] :] if event["type"] == "Verdict"]
    bought = [row for event in after for row in event["data"]["decisions"] if row["side"] == "BUY" and row["approved"]]
    assert after
    assert bought == []
    told = [line for line in command("status", "--dir", str(folder)).stdout.splitlines() if "did not agree" in line]
    assert len(told) == 1


def test_a_run_that_goes_on_does_so_under_the_policy_in_force_and_says_that_its_file_differs(tmp_path: Path) -> None:
    folder, other = tmp_path / "desk", tmp_path / "other.toml"
    text = (Path(__file__).parents[3] / "services" / "desk" / "data" / "demo-policy.toml").read_text()
    other.write_text(text.replace("[policy.limits]", '[policy.limits]\nmax_position_pct = "4"'))
    args = ("--days", "20", *BOOKS)
    with running(folder, *args) as process, Watcher(folder) as watcher:
        watcher.wait_for_type("FillSettled")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        assert process.returncode == 143
    adopted = ask(folder, "policy", "adopt", str(other), *WHY)
    done = command("run", "--json", "--dir", str(folder), *args)
    assert done.returncode == 0, done.stderr
    assert "differs from the policy in force and does nothing" in done.stderr
    log = [message.event for message in read_log(folder)]
    hashes = {event["data"]["policy_hash"] for event in log[adopted["seq"] :] if event["type"] == "Verdict"}
    assert hashes == {log[adopted["seq"] - 1]["data"]["policy_hash"]}


def test_an_order_that_needs_approval_is_listed_judged_afresh_when_approved_and_never_when_refused(tmp_path: Path) -> None:
    folder, policy = tmp_path / "desk", tmp_path / "policy.toml"
    text = (Path(__file__).parents[3] / "services" / "desk" / "data" / "demo-policy.toml").read_text()
    policy.write_text(text.replace("[policy.limits]", '[policy.limits]\napproval_above = "1"'))
    args = ("--days", "2", "--policy", str(policy), "--source", "equal_weight")
    with standing_still(folder, *args, kind="ProposalMade") as (watcher, end):
        watcher.wait_for_type("Verdict")
        listed = ask(folder, "approvals")["approvals"]
        assert len(listed) > 2
        assert listed == [{**row, "book": "equal_weight", "side": "BUY"} for row in listed]
        wanted, unwanted = listed[0]["order"], listed[1]["order"]
        ask(folder, "refuse", unwanted, *WHY)
        assert "waits for approval" in refused(folder, "approve", unwanted, *WHY)
        given = ask(folder, "approve", wanted, *WHY)
        placed = watcher.wait_for_type("OrderPlaced").event
        assert "waits for approval" in refused(folder, "approve", wanted, *WHY)
        left = [row["order"] for row in status(folder)["standing"]["approvals"]]
        assert left == [row["order"] for row in listed[2:]]
        code, _, err = end()
    assert code == 0, err
    log = [message.event for message in read_log(folder)]
    verdicts = [event for event in log[given["seq"] :] if event["type"] == "Verdict" and event["data"]["kind"] == "approval"]
    assert [len(event["data"]["decisions"]) for event in verdicts] == [1]
    sent = [event["data"] for event in log if event["type"] == "OrderIntended"]
    assert [(row["order"], row["symbol"], row["quantity"]) for row in sent] == [
        (placed["data"]["order"], listed[0]["symbol"], listed[0]["quantity"])
    ]


def test_cash_that_nothing_explains_is_in_no_book_until_it_is_adopted_and_is_no_deposit_then(tmp_path: Path) -> None:
    folder, script = tmp_path / "desk", tmp_path / "scenario.toml"
    script.write_text('[[adjust]]\nsession = "2022-12-28"\ncurrency = "USD"\namount = "12.5"\n')
    run_json(folder, "--days", "2", "--scenario", str(script), "--source", "equal_weight")
    before = status(folder)
    assert before["standing"]["reconciliation"]["unattributed"] == {"USD": "12.5"}
    assert before["standing"]["reconciliation"]["agrees"] is True
    ask(folder, "adopt", "--dividend", "AAPL", *WHY)
    after = status(folder)
    assert after["standing"]["reconciliation"]["unattributed"] == {}
    (was,), (now,) = before["books"], after["books"]
    assert Decimal(now["cash"]) - Decimal(was["cash"]) == Decimal("12.5")
    assert now["deposited"] == was["deposited"] == "10000.00"
