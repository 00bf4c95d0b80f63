"""The files of the log are damaged while no desk runs: noticed at the next start, before anything is appended or traded."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.log.damage import Desk, flip_bit, left, start, truncate
from tests.support.desks import Message, command, facts, read_log, run_json
from tests.support.runs import DAYS, Finished


def refused(desk: Desk) -> str:
    """Start it: it must stop with 1, having appended and sent nothing; what it said."""
    sent = desk.orders_at_the_broker()
    code, said = start(desk)
    assert code == 1, said
    assert "propdesk: the log is incomplete: " in said
    assert "Traceback" not in said
    assert desk.orders_at_the_broker() == sent
    return said


def nothing_appended(desk: Desk) -> list[Message]:
    """What is left in the log, all of which was there before."""
    found = left(desk)
    assert set(found) <= set(desk.log)
    return found


def first_lost(desk: Desk, said: str) -> int:
    """The first sequence that a message names as lost."""
    found = re.search(rf"sequences (\d+) to {desk.last_seq} are lost|namely (\d+) to {desk.last_seq},", said)
    assert found, said
    return int(found[1] or found[2])


def test_a_truncated_tail_after_a_clean_stop_is_named(desk: Desk) -> None:
    truncate(desk.blocks[-1])
    assert 1 < first_lost(desk, refused(desk)) < desk.last_seq
    nothing_appended(desk)


def test_a_truncated_tail_after_a_kill_leaves_no_gap_and_is_named_all_the_same(desk: Desk) -> None:
    truncate(desk.blocks[-1])
    desk.forget_index()
    lost = first_lost(desk, refused(desk))
    assert lost == len(nothing_appended(desk)) + 1


def test_a_flipped_bit_after_a_clean_stop_is_named(desk: Desk) -> None:
    flip_bit(desk.blocks[-1])
    missing = re.search(r"sequences (\d+) to \1 are missing", refused(desk))
    assert missing
    assert 1 < int(missing[1]) < desk.last_seq
    nothing_appended(desk)


def test_a_flipped_bit_after_a_kill_that_makes_the_server_drop_the_tail_is_named(desk: Desk) -> None:
    flip_bit(desk.blocks[-1])
    desk.forget_index()
    lost = first_lost(desk, refused(desk))
    assert lost == len(nothing_appended(desk)) + 1


def test_the_log_of_another_desk_of_the_same_arguments_is_not_taken_for_ours(desk: Desk, other: Callable[[], Desk]) -> None:
    foreign = other()
    shutil.rmtree(desk.folder / "js")
    shutil.copytree(foreign.folder / "js", desk.folder / "js")
    said = refused(desk)
    assert f"sequences 1 to {desk.last_seq}" in said
    assert "was replaced by one made at" in said
    assert left(desk) == foreign.log


def test_a_log_that_vanished_is_never_made_anew_while_anybody_remembers_it(desk: Desk) -> None:
    shutil.rmtree(desk.folder / "js")
    code, said = start(desk)
    assert code == 1
    assert "there is no stream EV" in said
    assert f" saw sequences 1 to {desk.last_seq}" in said
    assert not list((desk.folder / "js").glob("jetstream/*/streams/EV"))


def test_a_log_that_vanished_is_remembered_by_a_snapshot_alone(desk: Desk) -> None:
    shutil.rmtree(desk.folder / "js")
    for seen in desk.folder.glob("services/*/seen.json"):
        seen.unlink()
    code, said = start(desk)
    assert code == 1
    assert "the gate had a log" in said


def test_a_stream_that_was_deleted_is_not_made_anew(desk: Desk) -> None:
    shutil.rmtree(desk.blocks[0].parents[1])
    code, said = start(desk)
    assert code == 1
    assert "there is no stream EV" in said
    assert not list((desk.folder / "js").glob("jetstream/*/streams/EV"))


def test_status_says_why_it_stopped_and_what_to_do_until_the_log_is_whole_again(
    plain: Finished, desk: Desk, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    shutil.copytree(desk.folder / "js", kept)
    truncate(desk.blocks[-1])
    refused(desk)
    status = command("status", "--dir", str(desk.folder))
    assert "sequences" in status.stdout
    assert "--fresh" in status.stdout
    assert str(desk.folder / "js") in status.stdout
    assert json.loads(command("status", "--json", "--dir", str(desk.folder)).stdout)["stopped"]["reason"]

    shutil.rmtree(desk.folder / "js")
    shutil.copytree(kept, desk.folder / "js")
    result = run_json(desk.folder, "--days", DAYS)

    assert result["state_hash"] == plain.result["state_hash"]
    assert facts(read_log(desk.folder)) == facts(plain.log)
    assert json.loads(command("status", "--json", "--dir", str(desk.folder)).stdout)["stopped"] is None


@pytest.mark.parametrize("words", [("replay",), ("cancel", "20221003T1030-momentum-1-1", "--reason", "test")])
def test_no_other_command_works_on_a_damaged_log(desk: Desk, words: tuple[str, ...]) -> None:
    truncate(desk.blocks[-1])
    desk.forget_index()
    done = command(*words, "--dir", str(desk.folder))
    assert done.returncode == 1
    assert f"to {desk.last_seq} are lost" in done.stderr
    nothing_appended(desk)


def test_without_any_memory_a_start_only_warns(plain: Finished, desk: Desk) -> None:
    for seen in desk.folder.glob("services/*/seen.json"):
        seen.unlink()
    result = run_json(desk.folder, "--days", DAYS)
    assert result["state_hash"] == plain.result["state_hash"]
    for service in ("gate", "executor", "agent", "journal"):
        assert "nothing says what was seen of this log before" in (desk.folder / "logs" / f"{service}.log").read_text()


def test_a_memory_that_cannot_be_read_is_as_good_as_none(plain: Finished, desk: Desk) -> None:
    for seen in desk.folder.glob("services/*/seen.json"):
        seen.write_text('{"seq":')
    result = run_json(desk.folder, "--days", DAYS)
    assert result["state_hash"] == plain.result["state_hash"]
