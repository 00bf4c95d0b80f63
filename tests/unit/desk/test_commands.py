"""Operator commands: one event per request, and clear errors."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from services.desk.commands import Commands
from services.desk.tally import DeskState, apply
from shared.bus.memory import MemoryLog, MemoryRpc
from shared.bus.participant import Participant
from shared.bus.ports import Append
from shared.ledger import fold
from shared.ledger.state import State
from shared.protocol.envelope import Draft
from shared.protocol.events import OrderClosed
from shared.protocol.ids import subject
from shared.protocol.market import Side
from shared.protocol.money import Exact
from shared.protocol.reasons import OrderEnd
from tests.support.scribe import SLOT, Scribe

ORDER = "20221003T1030-alpha-1-1"
ENDED = "20221003T1030-alpha-1-2"


@pytest.fixture
async def participant() -> AsyncIterator[Participant[DeskState]]:
    """The desk's part in a log with one order that is open and one that has ended."""
    scribe = Scribe().open_desk("alpha")
    scribe.clock("slot", SLOT, ("alpha",))
    run = scribe.start_run("alpha")
    scribe.approve(run, ("AAA", Side.BUY, "10", "10"), ("BBB", Side.BUY, "10", "10"))
    scribe.write("executor", OrderClosed(ENDED, OrderEnd.EXPIRED, Exact(0), ""), ENDED, book="alpha", run=run)
    log = MemoryLog()
    for event in scribe.events:
        where = subject(event.author, event.book, event.type)
        await log.append(Append(where, event.id, event.payload, "nobody.>", 0))
    desk = Participant(log, MemoryRpc(), author="desk", instance="1-desk", desk="test", state=DeskState(), apply=apply)
    await desk.start()
    yield desk
    await desk.close()


async def ask(commands: Commands, **fields: object) -> dict[str, Any]:
    """Send a request as a caller does, while the desk's loop works."""
    body = {"command": "cancel", "order": ORDER, "reason": "a drill", "request": "r1", **fields}
    answer = asyncio.ensure_future(commands.handle(json.dumps(body).encode()))
    await asyncio.sleep(0)
    await commands.work()
    return json.loads(await answer)  # type: ignore[no-any-return]


async def test_a_cancel_becomes_an_event_at_desk_time_about_its_request(participant: Participant[DeskState]) -> None:
    before = participant.cursor
    answer = await ask(Commands(participant))
    assert answer == {"event": "desk:CancelOrdered:r1", "seq": before + 1}
    stored = await participant.log.get(before + 1)
    assert stored is not None
    event = json.loads(stored.payload)
    assert (event["at"], event["book"], event["data"]) == (SLOT, "_desk", {"order": ORDER, "reason": "a drill"})
    assert participant.state.ledger.runs[event["data"]["order"][:-2]].orders[ORDER].cancel


async def test_a_repeated_request_is_one_event(participant: Participant[DeskState]) -> None:
    commands = Commands(participant)
    first = await ask(commands)
    assert await ask(commands) == first
    assert participant.cursor == first["seq"]


async def test_a_request_id_that_was_used_for_something_else_is_refused(participant: Participant[DeskState]) -> None:
    commands = Commands(participant)
    first = await ask(commands)
    again = await ask(commands, reason="another reason")
    assert again["error"]["code"] == "request_reused"
    assert participant.cursor == first["seq"]


@pytest.mark.parametrize(
    ("order", "code", "says"),
    [
        (ENDED, "order_ended", "expired"),
        ("20221003T1030-alpha-1-3", "unknown_order", "no order"),
        ("x", "unknown_order", "no order"),
    ],
)
async def test_an_order_that_ended_or_never_was_is_refused(
    participant: Participant[DeskState], order: str, code: str, says: str
) -> None:
    before = participant.cursor
    answer = await ask(Commands(participant), order=order)
    assert answer["error"]["code"] == code
    assert says in answer["error"]["message"]
    assert participant.cursor == before


@pytest.mark.parametrize(
    "fields",
    [
        {"command": "sell"},
        {"reason": ""},
        {"reason": " \n "},
        {"reason": "x" * 2001},
        {"request": "with space"},
        {"request": "a:b"},
        {"request": ""},
        {"order": 7},
        {"extra": 1},
    ],
)
async def test_a_request_of_another_shape_is_refused(participant: Participant[DeskState], fields: dict[str, object]) -> None:
    answer = await ask(Commands(participant), **fields)
    assert answer["error"]["code"] == "bad_request"
    (name,) = fields
    assert answer["error"]["message"].startswith(("a reason is needed", f"{name} must be ", f"{name} is no field "))
    assert not any(jargon in answer["error"]["message"] for jargon in ("`", "$", "Cancel", "Expected", "Annotated"))


@pytest.mark.parametrize("payload", [b"", b"no json", b"[]", b'"cancel"', b"\xff"])
async def test_a_request_that_is_no_object_is_told_what_one_is(participant: Participant[DeskState], payload: bytes) -> None:
    answer = json.loads(await Commands(participant).handle(payload))
    assert answer["error"]["message"] == (
        "a request is a JSON object with command, reason, request and the fields of its command"
    )


async def test_a_request_without_a_field_is_told_which(participant: Participant[DeskState]) -> None:
    answer = json.loads(await Commands(participant).handle(b'{"command":"cancel","order":"x","request":"r"}'))
    assert answer["error"]["message"] == "reason is missing: it is a text of 1 to 2000 characters"


async def test_several_requests_at_once_are_carried_out_one_after_another(participant: Participant[DeskState]) -> None:
    commands, before = Commands(participant), participant.cursor
    answers = await asyncio.gather(*(ask(commands, request=f"r{n}") for n in range(3)))
    assert [answer["seq"] for answer in answers] == [before + 1, before + 2, before + 3]


async def test_a_desk_that_is_ending_appends_nothing_more_and_says_so(participant: Participant[DeskState]) -> None:
    commands = Commands(participant)
    waiting = asyncio.ensure_future(commands.handle(b'{"command":"cancel","order":"x","reason":"y","request":"z"}'))
    await asyncio.sleep(0)
    commands.close()
    assert json.loads(await waiting)["error"]["code"] == "ending"
    assert (await ask(commands))["error"]["message"] == "the desk is ending"


async def test_a_cancel_that_comes_just_after_the_orders_end_is_refused_and_not_stored(
    participant: Participant[DeskState],
) -> None:
    """The executor's event is in the log but not folded by the desk yet: the cancel is decided on the state it is appended to."""
    executor = Participant(
        participant.log, MemoryRpc(), author="executor", instance="1-executor", desk="test", state=State(), apply=fold.apply
    )
    await executor.start()
    end = OrderClosed(ORDER, OrderEnd.FILLED, Exact(10), "")
    closed = await executor.append(Draft("executor", "alpha", ORDER, SLOT, executor.cursor, end, run=ORDER[:-2]))
    await executor.close()
    assert closed is not None
    assert participant.cursor == closed.seq - 1
    answer = await ask(Commands(participant))
    assert answer["error"]["code"] == "order_ended"
    assert participant.cursor == closed.seq
    assert await participant.log.last_seq() == closed.seq
