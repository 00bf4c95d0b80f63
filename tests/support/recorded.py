"""Logs of released versions, as tools/record_log.py wrote them."""

import json
from pathlib import Path
from typing import Any

import msgspec

from shared.bus.memory import MemoryLog
from shared.bus.ports import Stored

LOGS = Path(__file__).parents[1] / "contract" / "logs"
VERSIONS = sorted(path.name for path in LOGS.iterdir() if path.is_dir())


class Line(msgspec.Struct, forbid_unknown_fields=True):
    """One stored message, its payload as the bytes that were stored."""

    seq: int
    subject: str
    payload: msgspec.Raw


def recorded(version: str) -> list[Stored]:
    """The log of a version."""
    found = []
    for text in (LOGS / version / "log.jsonl").read_bytes().splitlines():
        line = msgspec.json.decode(text, type=Line)
        payload = bytes(line.payload)
        found.append(Stored(line.seq, line.subject, json.loads(payload)["id"], payload))
    return found


def expected(version: str) -> dict[str, Any]:
    """What is to be found in it."""
    return json.loads((LOGS / version / "expected.json").read_text("utf-8"))  # type: ignore[no-any-return]


def memory_log(stored: list[Stored]) -> MemoryLog:
    """The messages as a log to read."""
    log = MemoryLog()
    log.stored = list(stored)
    log.truncate(len(stored))
    return log
