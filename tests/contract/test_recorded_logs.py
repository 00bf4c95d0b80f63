"""Recorded logs of every version replay for ever: to the same hash, event by event, with nothing dropped."""

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from structlog.testing import capture_logs

from services.journal.dump import dump
from services.journal.replay import replay
from shared.ledger.fold import apply
from shared.ledger.hashing import state_hash
from shared.ledger.owed import owed
from shared.ledger.state import State
from shared.protocol.envelope import read_event, sha256_hex
from shared.protocol.events import EVENT_TYPES, StateHashed
from shared.protocol.schemas import event_schema
from tests.support.recorded import LOGS, VERSIONS, expected, memory_log, recorded

MAX_BYTES = 400_000
SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


@cache
def validator(kind: str) -> jsonschema.Draft202012Validator:
    """Of the schema that is published."""
    return jsonschema.Draft202012Validator(json.loads((SCHEMAS / f"{kind}.json").read_text("utf-8")))


def payloads() -> list[dict[str, Any]]:
    """Every recorded payload of any version."""
    return [json.loads(stored.payload) for version in VERSIONS for stored in recorded(version)]


def test_there_is_a_recorded_log() -> None:
    assert VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
def test_the_file_is_the_one_that_was_recorded_and_small_enough_to_be_read(version: str) -> None:
    text = (LOGS / version / "log.jsonl").read_bytes()
    assert sha256_hex(text) == expected(version)["sha256"]
    assert len(text) <= MAX_BYTES
    assert [stored.seq for stored in recorded(version)] == list(range(1, expected(version)["events"] + 1))


@pytest.mark.parametrize("version", VERSIONS)
async def test_it_replays_to_the_recorded_hash_with_no_event_dropped(version: str, tmp_path: Path) -> None:
    found, stored = expected(version), recorded(version)
    with capture_logs() as logs:
        result = await replay(memory_log(stored), tmp_path / "journal.db")
    assert logs == []
    assert (result.last_seq, result.state_hash) == (found["events"], found["state_hash"])
    rows = dump(tmp_path / "journal.db")
    assert len(rows["events"]) == found["events"]
    assert len(rows["fills"]) == found["types"]["FillSettled"]
    assert Counter(row[2] for row in rows["events"]) == found["types"]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_hash_that_was_written_then_is_the_one_that_is_folded_now(version: str) -> None:
    state, compared = State(), 0
    for stored in recorded(version):
        event = read_event(stored.seq, stored.subject, stored.payload)
        if event.type == "StateHashed":
            data = event.expect(StateHashed)
            about = data.session if data.seq is None else str(data.seq)
            mark = next(mark for mark in state.marks if mark.about == about)
            assert data.state_hash == state_hash(mark), event
            compared += 1
        state = apply(state, event)
    assert compared == expected(version)["types"]["StateHashed"]
    assert owed(state) == ()
    assert state.halts == {}


def test_every_recorded_event_fits_its_published_schema() -> None:
    for payload in payloads():
        if payload["version"] == event_schema(payload["type"])["properties"]["version"]["const"]:
            validator(payload["type"]).validate(payload)


def _wrong(payload: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What is nearly the event but must not pass for one."""
    data = payload["data"]
    name = next(iter(data))
    return {
        "an unknown field": {**payload, "data": {**data, "more": 1}},
        "another type": {**payload, "type": "Nothing"},
        "a later version": {**payload, "version": payload["version"] + 1},
        "another author": {**payload, "by": {**payload["by"], "service": "simulator"}},
        "a number for a field": {**payload, "data": {**data, name: 1.5}},
        "no data": {key: value for key, value in payload.items() if key != "data"},
        "a time without microseconds": {**payload, "at": payload["at"][:19] + "Z"},
    }


def test_a_schema_refuses_what_is_nearly_an_event() -> None:
    seen = {payload["type"]: payload for payload in payloads()}
    assert len(seen) >= 18
    for kind, payload in seen.items():
        for what, wrong in _wrong(payload).items():
            assert not validator(kind).is_valid(wrong), f"{kind} with {what}"


@pytest.mark.parametrize(
    ("text", "fits"), [("1", True), ("-0.5", True), ("0", True), ("1.0", False), ("1e3", False), ("-0", False)]
)
def test_a_schema_takes_decimals_in_canonical_form_only(text: str, fits: bool) -> None:
    payload = next(payload for payload in payloads() if payload["type"] == "CashDeposited")
    assert validator("CashDeposited").is_valid({**payload, "data": {**payload["data"], "amount": text}}) is fits


def test_every_event_type_has_a_schema_that_is_one() -> None:
    for kind in EVENT_TYPES:
        jsonschema.Draft202012Validator.check_schema(event_schema(kind))
