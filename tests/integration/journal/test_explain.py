"""Explaining from a whole log: what is no fact for the services is none in a story."""

import json
from typing import Any

import msgspec
from structlog.testing import capture_logs

from services.journal.explain import explain
from services.journal.story import story
from services.journal.subject import read_subject
from shared.bus.keyring import Keyring
from shared.bus.ports import Stored
from shared.protocol.envelope import canonical
from shared.protocol.events import Verdict
from tests.support.recorded import VERSIONS, memory_log, recorded

LOG = recorded(VERSIONS[-1])


def approving(stored: Stored) -> bytes:
    """The same verdict with every order approved, under the signature of the true one."""
    event: dict[str, Any] = json.loads(stored.payload)
    for index, row in enumerate(event["data"]["decisions"], start=1):
        row.update(approved=True, reasons=[], largest=None, order=f"{event['run']}-{index}")
    return canonical(event)


async def test_a_verdict_that_the_gate_did_not_sign_is_not_told_and_the_true_one_is() -> None:
    true = next(stored for stored in LOG if stored.subject == "ev.gate.rule_breaker.Verdict")
    forged = msgspec.structs.replace(true, payload=approving(true))
    messages = [*LOG[: true.seq - 1], forged, *LOG[true.seq - 1 :]]
    log = memory_log([msgspec.structs.replace(stored, seq=seq) for seq, stored in enumerate(messages, start=1)])
    run = json.loads(true.payload)["run"]

    with capture_logs() as logs:
        found = await explain(log, read_subject(run), Keyring(required=True))

    (alarm,) = logs
    assert (alarm["seq"], alarm["event"], alarm["alarm"]) == (true.seq, "event dropped", True)
    (verdict,) = (event for event in found.events if event.type == "Verdict")
    assert (verdict.seq, verdict.payload) == (true.seq + 1, true.payload)
    assert not any(row.approved for row in verdict.expect(Verdict).decisions)
    lines = story(found)
    assert "blocked" in "\n".join(lines)
    assert lines[-2].endswith("each is signed with its writer's key")
    assert lines[-1] == "left out: 1 message of that log that counts for nothing"


async def test_a_whole_log_explains_each_of_its_runs() -> None:
    runs = {json.loads(stored.payload)["run"] for stored in LOG} - {None}
    for run in sorted(runs):
        found = await explain(memory_log(LOG), read_subject(run), Keyring(required=True))
        assert found.last_seq == len(LOG)
        assert {event.run for event in found.events} <= {run, None}
        assert [event.seq for event in found.events] == sorted(event.seq for event in found.events)
