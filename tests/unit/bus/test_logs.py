"""Log lines that cannot be written are dropped and counted; they stop nothing."""

import fcntl
import json
import os
from pathlib import Path

import pytest

from shared.bus.logs import LineLog


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_line_for_a_full_disk_is_dropped_without_an_error() -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        log = LineLog(full.fileno())
        log.warning('{"event": "one"}')
        log.error('{"event": "two"}')
    assert log.dropped == 2


def test_after_lines_were_dropped_the_next_says_how_many_and_stands_on_its_own(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    size = fcntl.fcntl(writer, 1031, 4096)  # F_SETPIPE_SZ: the smallest pipe, so that it is full soon
    log = LineLog(writer)
    log.info(json.dumps({"event": "x" * size}))
    log.info('{"event": "lost"}')
    assert log.dropped == 2
    os.read(reader, size)
    log.info('{"event": "kept"}')
    os.close(writer)
    torn, told, kept, end = os.read(reader, size).decode().split("\n")
    os.close(reader)
    assert torn == ""
    assert json.loads(told) == {"dropped": 2, "event": "lines of this log could not be written"}
    assert json.loads(kept) == {"event": "kept"}
    assert end == ""
    assert log.dropped == 0
