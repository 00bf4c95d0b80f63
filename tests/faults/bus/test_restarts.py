"""The server is stopped and killed while processes append and fold; nothing may be lost or written twice."""

import asyncio
import random
import signal
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from shared.bus.jetstream import Connection, connect, ensure_stream
from shared.bus.participant import Participant
from shared.protocol.envelope import Draft, Event
from shared.protocol.events import HaltOrdered, StateHashed
from tests.integration.bus.servers import NatsServer, eventually

BOUND_S = 120.0
EVENTS = 400
RESTARTS = 5
AT = "2022-10-03T14:30:00.000000Z"
Ids = tuple[str, ...]


def hashed(number: int) -> Draft:
    return Draft("gate", "_desk", f"s{number}", AT, 0, StateHashed("2022-10-03", str(number)))


def halt(number: int) -> Draft:
    return Draft("desk", "_desk", f"r{number}", AT, 0, HaltOrdered("_desk", "full", False, str(number)))


def apply(state: Ids, event: Event) -> Ids:
    return (*state, event.id)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    """A server to be ill-treated."""
    made = NatsServer(tmp_path).start()
    yield made
    made.stop()


async def join(server: NatsServer, author: str) -> tuple[Connection, Participant[Ids]]:
    connection = await connect(server.url, author)
    participant: Participant[Ids] = Participant(
        connection.log, connection.rpc, author=author, instance=f"1-{author}", desk="test", state=(), apply=apply
    )
    await participant.start()
    return connection, participant


async def append_all(participant: Participant[Ids], drafts: list[Draft], acknowledged: list[str]) -> None:
    for draft in drafts:
        event = await participant.append(draft)
        assert event is not None
        acknowledged.append(event.id)


async def follow(participant: Participant[Ids], count: int) -> None:
    while len(participant.state) < count:
        await participant.advance()


async def ill_treat(server: NatsServer, numbers: list[int], seed: int, acknowledged: list[str]) -> None:
    """One restart for each part of the work, each at a drawn moment of it."""
    chosen = random.Random(seed)
    for part in range(RESTARTS):
        after = chosen.randrange(part * 2 * EVENTS // RESTARTS, (part + 1) * 2 * EVENTS // RESTARTS)
        await eventually(_at_least(acknowledged, after), BOUND_S)
        await asyncio.to_thread(server.restart, chosen.choice(numbers))


def _at_least(acknowledged: list[str], count: int) -> Callable[[], Awaitable[bool]]:
    async def reached() -> bool:
        return len(acknowledged) >= count

    return reached


@pytest.mark.parametrize(
    ("numbers", "seed"), [([signal.SIGTERM], 1), ([signal.SIGKILL], 2), ([signal.SIGTERM, signal.SIGKILL], 3)]
)
async def test_restarts_of_the_server_lose_and_repeat_nothing(server: NatsServer, numbers: list[int], seed: int) -> None:
    print(f"seed {seed}")
    parts = [await _first(server)] + [await join(server, author) for author in ("desk", "journal")]
    people = [participant for _, participant in parts]
    gate, desk, journal = people
    acknowledged: list[str] = []
    async with asyncio.timeout(BOUND_S):
        await asyncio.gather(
            append_all(gate, [hashed(n) for n in range(EVENTS)], acknowledged),
            append_all(desk, [halt(n) for n in range(EVENTS)], acknowledged),
            follow(journal, 2 * EVENTS),
            ill_treat(server, numbers, seed, acknowledged),
        )
        for participant in people:
            await participant.catch_up()
    wanted = {draft.id for n in range(EVENTS) for draft in (hashed(n), halt(n))}
    assert set(acknowledged) == wanted
    assert await parts[0][0].log.last_seq() == 2 * EVENTS
    assert sorted(journal.state) == sorted(wanted)
    assert gate.state == desk.state == journal.state
    assert [one for one in journal.state if one.startswith("gate")] == [hashed(n).id for n in range(EVENTS)]
    for connection, participant in parts:
        await participant.close()
        await connection.close()


async def _first(server: NatsServer) -> tuple[Connection, Participant[Ids]]:
    connection = await connect(server.url, "provisioner")
    await ensure_stream(connection)
    await connection.close()
    return await join(server, "gate")


async def test_a_server_that_is_paused_only_makes_everyone_wait(server: NatsServer) -> None:
    connection, gate = await _first(server)
    other, journal = await join(server, "journal")
    acknowledged: list[str] = []
    await server.pause()
    appending = asyncio.create_task(append_all(gate, [hashed(n) for n in range(20)], acknowledged))
    assert not await connection.alive(0.2)
    assert acknowledged == []
    server.resume()
    async with asyncio.timeout(BOUND_S):
        await appending
        await follow(journal, 20)
    assert journal.state == tuple(hashed(n).id for n in range(20))
    for link, participant in ((connection, gate), (other, journal)):
        await participant.close()
        await link.close()
