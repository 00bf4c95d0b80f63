"""The broker's file: what survives, what is cut off and what is refused."""

import os
import threading

import pytest

from services.simulator.journal_file import NAME, JournalError, JournalFile, JournalRefused, NotStored

PAYLOADS = [b'{"op":"a"}', b'{"op":"b","x":"1"}', b'{"op":"c"}']


def written(folder, payloads=PAYLOADS):
    """A closed file that holds `payloads`."""
    file = JournalFile.open(folder)
    assert list(file.read()) == []
    for payload in payloads:
        file.append(payload)
    file.close()
    return folder / NAME


def read(folder):
    file = JournalFile.open(folder)
    try:
        return list(file.read())
    finally:
        file.close()


def test_what_was_appended_is_read_in_order(tmp_path):
    written(tmp_path)
    assert read(tmp_path) == PAYLOADS


def test_the_folder_is_made(tmp_path):
    written(tmp_path / "a" / "broker")
    assert read(tmp_path / "a" / "broker") == PAYLOADS


def test_a_line_is_a_json_object_with_its_number_and_a_checksum(tmp_path):
    import json

    lines = written(tmp_path).read_text().splitlines()
    assert [list(json.loads(line)) for line in lines] == [["n", "op", "crc"], ["n", "op", "x", "crc"], ["n", "op", "crc"]]
    assert [json.loads(line)["n"] for line in lines] == [1, 2, 3]


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_an_incomplete_last_line_is_cut_off_and_the_next_one_takes_its_place(tmp_path, cut):
    path = written(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    file = JournalFile.open(tmp_path)
    assert list(file.read()) == PAYLOADS[:2]
    file.append(PAYLOADS[2])
    file.close()
    assert path.read_bytes() == whole


def test_an_incomplete_first_line_leaves_an_empty_file(tmp_path):
    (tmp_path / NAME).write_bytes(b'{"n":1,"op')
    assert read(tmp_path) == []
    assert (tmp_path / NAME).read_bytes() == b""


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda lines: [lines[0], lines[1].replace(b'"1"', b'"2"'), lines[2]], 2),
        (lambda lines: [lines[0], lines[2]], 2),
        (lambda lines: [lines[1], lines[0], lines[2]], 1),
        (lambda lines: [lines[0], b"", lines[1], lines[2]], 2),
        (lambda lines: [lines[0], b"\0" * 40, lines[2]], 2),
        (lambda lines: [lines[0], lines[0], lines[1]], 2),
        (lambda lines: [lines[0], lines[1], b"nonsense"], 3),
        (lambda lines: [b"%PDF-1.7", lines[1], lines[2]], 1),
    ],
    ids=["changed", "missing", "swapped", "blank", "zeros", "repeated", "whole last line", "foreign"],
)
def test_a_line_that_is_not_as_it_was_written_is_named(tmp_path, damage, line):
    path = written(tmp_path)
    path.write_bytes(b"\n".join(damage(path.read_bytes().splitlines())) + b"\n")
    before = path.read_bytes()
    with pytest.raises(JournalRefused, match=rf"journal.jsonl, line {line}: it is not as it was written"):
        read(tmp_path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("end", "line"),
    [
        (lambda last: last + b"X", 3),
        (lambda last: last + b"\ngarbage", 4),
        (lambda last: b"\xff\xfe", 3),
        (lambda last: last[1:], 3),
    ],
    ids=["flipped newline", "garbage after it", "garbage instead", "first byte lost"],
)
def test_an_end_that_no_crash_leaves_is_damage_and_stays_as_it_is(tmp_path, end, line):
    path = written(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + end(lines[2].rstrip(b"\n")))
    before = path.read_bytes()
    with pytest.raises(JournalRefused, match=rf"journal.jsonl, line {line}: it is not as it was written; restore"):
        read(tmp_path)
    assert path.read_bytes() == before


def test_zeros_that_a_power_cut_leaves_at_the_end_are_cut_off(tmp_path):
    path = written(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole + b"\0" * 100)
    assert read(tmp_path) == PAYLOADS
    assert path.read_bytes() == whole


def test_a_damaged_file_keeps_its_incomplete_last_line(tmp_path):
    path = written(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'"op":"a"', b'"op":"z"')[:-5])
    before = path.read_bytes()
    with pytest.raises(JournalRefused, match="line 1"):
        read(tmp_path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", ["fifo", "folder", "device"])
def test_what_is_no_file_is_refused_without_waiting(tmp_path, kind):
    path = tmp_path / NAME
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case _:
            path.symlink_to("/dev/null")
    with pytest.raises(JournalRefused, match=r"is no regular file|cannot be opened"):
        JournalFile.open(tmp_path)


def test_a_simulator_that_is_just_ending_is_waited_for(tmp_path):
    first = JournalFile.open(tmp_path)
    threading.Timer(0.2, first.close).start()
    JournalFile.open(tmp_path).close()


def test_one_process_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr("services.simulator.journal_file.IN_USE_S", 0.1)
    first = JournalFile.open(tmp_path)
    with pytest.raises(JournalRefused, match="in use by another simulator"):
        JournalFile.open(tmp_path)
    first.close()
    JournalFile.open(tmp_path).close()


def test_a_folder_that_cannot_be_used_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="cannot be opened"):
        JournalFile.open(tmp_path / "file")


def test_a_full_disk_stores_nothing_and_goes_on_when_there_is_room(tmp_path, monkeypatch):
    path = written(tmp_path)
    whole = path.read_bytes()
    file = JournalFile.open(tmp_path)
    list(file.read())
    write = os.write

    def full(descriptor, data):
        """Take some bytes, then none."""
        if len(data) > 10:
            return write(descriptor, bytes(data[:10]))
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(NotStored, match="No space left on device"):
            file.append(b'{"op":"d"}')
    assert path.read_bytes() == whole
    file.append(b'{"op":"d"}')
    file.close()
    assert read(tmp_path) == [*PAYLOADS, b'{"op":"d"}']


def test_a_file_that_cannot_be_cut_back_ends_it(tmp_path, monkeypatch):
    written(tmp_path)
    file = JournalFile.open(tmp_path)
    list(file.read())

    def broken(descriptor):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(JournalError, match="its end is uncertain"):
        file.append(b'{"op":"d"}')
    file.close()
