"""The two buses that must behave alike: JetStream on a real server, and memory."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shared.bus.memory import MemoryLog, MemoryRpc
from shared.bus.participant import Participant
from shared.bus.ports import Log
from tests.contract.bus.buses import Bus, JetStreamBus, MemoryBus
from tests.contract.bus.people import Ids, Join, join
from tests.integration.bus.servers import NatsServer


@pytest.fixture(params=["jetstream", "memory"])
async def bus(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bus]:
    """An empty log and a place for request and reply."""
    if request.param == "memory":
        yield MemoryBus(MemoryLog(), MemoryRpc())
        return
    server = NatsServer(tmp_path / "nats").start()
    bus = JetStreamBus(server)
    await bus.make_stream()
    yield bus
    await bus.close()
    server.stop()


@pytest.fixture
async def started(bus: Bus) -> AsyncIterator[Join]:
    """Makes participants that have folded to the end."""
    made: list[Participant[Ids]] = []

    async def make(author: str, instance: str = "1-a", log: Log | None = None) -> Participant[Ids]:
        participant = await join(bus, author, instance, log)
        made.append(participant)
        await participant.start()
        return participant

    yield make
    for participant in made:
        await participant.close()
