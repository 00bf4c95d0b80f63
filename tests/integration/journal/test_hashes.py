"""The journal as a real process over a real log: its own hashes, and a halt where somebody's hash is another one."""

import signal

import msgspec

from shared.bus.jetstream import Connection
from shared.bus.ports import Stored
from shared.protocol.envelope import Event, read_event
from shared.protocol.events import HaltOrdered, StateHashed
from tests.integration.journal.stage import Health, Process, asked, until
from tests.unit.journal.desk_log import DeskLog, day, desk_log, pour

WRONG = "0" * 64


async def events(bus: Connection, author: str) -> list[Event]:
    """What an author has written so far."""
    stored = [await bus.log.get(seq) for seq in range(1, await bus.log.last_seq() + 1)]
    found = [read_event(one.seq, one.subject, one.payload) for one in stored if one is not None]
    return [event for event in found if event.author == author]


async def wrote(bus: Connection, count: int) -> list[Event]:
    """Wait until the journal has written so many events."""

    async def done() -> bool:
        return len(await events(bus, "journal")) >= count

    await until(done, f"the journal has written {count} events")
    return await events(bus, "journal")


def forged(desk: DeskLog, session: int) -> list[Stored]:
    """The log of `desk`, in which the executor's last hash, of this session, is another one."""
    about = f"executor:StateHashed:{day(session)}"
    last = next(message for message in desk.stored if message.msg_id == about)
    right = read_event(last.seq, last.subject, last.payload).expect(StateHashed).state_hash
    payload = last.payload.replace(right.encode(), WRONG.encode())
    return [msgspec.structs.replace(message, payload=payload) if message is last else message for message in desk.stored]


async def test_it_hashes_each_session_and_each_thousandth_sequence_over_restarts(bus: Connection, process: Process):
    desk = desk_log(12, journal=False)
    await pour(bus.log, desk.stored[:900])
    await process.start()
    first = await wrote(bus, 9)
    assert await process.end(signal.SIGKILL) == -signal.SIGKILL
    await pour(bus.log, desk.stored[900:])
    await process.start()
    found = await wrote(bus, 13)
    assert await process.end(signal.SIGTERM) == 0
    assert [event.id for event in first] == [event.id for event in found[: len(first)]]
    assert sorted(event.id for event in found) == sorted(
        f"journal:StateHashed:{about}" for about in ("1000", *(day(index) for index in range(12)))
    )
    theirs = {event.id.split(":")[2]: event.data for event in await events(bus, "gate") if event.type == "StateHashed"}
    ours = {event.id.split(":")[2]: event.data for event in found if event.expect(StateHashed).seq is None}
    assert ours == theirs


async def test_a_wrong_hash_by_the_executor_halts_the_desk_once_and_says_whose_it_is(bus: Connection, process: Process):
    desk = desk_log(2, journal=False)
    await pour(bus.log, forged(desk, 1))
    await process.start()
    *hashes, halt = await wrote(bus, 3)
    assert [event.id for event in hashes] == [f"journal:StateHashed:{day(index)}" for index in range(2)]
    right = hashes[1].expect(StateHashed).state_hash
    assert halt.id == f"journal:HaltOrdered:{day(1)}"
    data = halt.expect(HaltOrdered)
    assert (data.scope, data.kind, data.liquidate) == ("_desk", "full", False)
    assert f"executor {WRONG}, gate {right}, journal {right}" in data.reason
    assert await process.end(signal.SIGTERM) == 0
    assert "hashes differ: the desk is halted" in process.output

    last = await bus.log.last_seq()
    await process.start()
    await until(lambda: _answers(bus), "the journal is back")
    assert await process.end(signal.SIGTERM) == 0
    assert await bus.log.last_seq() == last


async def _answers(bus: Connection) -> bool:
    health = await asked(bus, "rpc.journal.health", Health)
    return health is not None and health.ready
