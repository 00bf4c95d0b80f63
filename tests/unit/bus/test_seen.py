"""What was seen of a log, compared with what is there."""

from pathlib import Path

import pytest

from shared.bus.folder import SEEN_FILE, make_folder, write_whole
from shared.bus.js_api import named
from shared.bus.memory import MemoryLog
from shared.bus.ports import Append, LogBroken, LogInfo
from shared.bus.seen import Seen, check_whole, compare, read_seen
from shared.protocol.envelope import sha256_hex


async def of(*payloads: bytes) -> MemoryLog:
    """A log of these payloads."""
    log = MemoryLog()
    for number, payload in enumerate(payloads):
        await log.append(Append("ev.gate._desk.X", f"id{number}", payload, "ev.gate.>", number))
    return log


async def seen(log: MemoryLog, seq: int, payload: bytes) -> Seen:
    """What somebody saw of it."""
    return Seen(seq, sha256_hex(payload), (await log.info()).created, 1)


async def test_a_log_that_grew_is_what_was_seen() -> None:
    log = await of(b"1", b"2", b"3")
    assert (await compare(log, await seen(log, 2, b"2"), "the gate")).last_seq == 3


async def test_a_lost_tail_is_named() -> None:
    log = await of(b"1", b"2")
    with pytest.raises(LogBroken, match=r"ends at sequence 2, but the gate saw 5: sequences 3 to 5 are lost"):
        await compare(log, await seen(log, 5, b"5"), "the gate")


async def test_another_event_at_its_place_is_named() -> None:
    log = await of(b"1", b"2", b"3")
    with pytest.raises(LogBroken, match=r"sequence 2 is not the event that the gate saw there"):
        await compare(log, await seen(log, 2, b"other"), "the gate")


async def test_a_stream_made_anew_is_named_with_what_was_seen_of_the_old_one() -> None:
    log = await of(b"1", b"2", b"3")
    old = Seen(2, sha256_hex(b"2"), "2022-10-03T14:30:00Z", 1)
    with pytest.raises(LogBroken, match=r"sequences 1 to 2, was replaced by one made at"):
        await compare(log, old, "the gate")


def test_a_log_that_begins_later_is_not_whole() -> None:
    with pytest.raises(LogBroken, match=r"begins at sequence 4: sequences 1 to 3 are lost"):
        check_whole(LogInfo(4, 9, 0, "now"))


def test_holes_are_named_as_ranges_and_only_so_many() -> None:
    assert named((3, 7, 8, 9)) == "3, 7 to 9"
    assert named(range(1, 100, 2)) == "1, 3, 5, 7, 9, …"
    with pytest.raises(LogBroken, match=r"lacks 4 of the sequences 1 to 9, namely 3, 7 to 9, though"):
        check_whole(LogInfo(1, 9, 4, "now", named((3, 7, 8, 9))))


def test_it_is_written_whole_and_read_back(tmp_path: Path) -> None:
    kept = Seen(7, "0" * 64, "2022-10-03T14:30:00Z", 1)
    write_whole(tmp_path / SEEN_FILE, kept.encoded())
    assert read_seen(tmp_path) == kept
    assert [path.name for path in tmp_path.iterdir()] == [SEEN_FILE]


def test_no_file_is_no_memory_and_an_unreadable_one_is_named(tmp_path: Path) -> None:
    assert read_seen(tmp_path) is None
    (tmp_path / SEEN_FILE).write_text('{"seq":7')
    with pytest.raises(ValueError, match=SEEN_FILE):
        read_seen(tmp_path)


def test_what_a_killed_process_left_half_written_is_removed(tmp_path: Path) -> None:
    (tmp_path / f"{SEEN_FILE}.new-123").write_text("{")
    (tmp_path / SEEN_FILE).write_text("kept")
    make_folder(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [SEEN_FILE]
