"""The two buses that must behave alike: JetStream on a real server, and memory."""

from collections.abc import AsyncIterator, Iterator

import pytest

from shared.bus.jetstream import Connection, ensure_stream
from shared.bus.memory import MemoryLog, MemoryRpc
from shared.bus.participant import Participant
from shared.bus.ports import Log
from tests.contract.bus.buses import Bus, JetStreamBus, MemoryBus
from tests.contract.bus.people import Ids, Join, join
from tests.integration.bus.servers import NatsServer, connected, remove_stream


@pytest.fixture(scope="session")
def contract_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    """A server that stays up."""
    server = NatsServer(tmp_path_factory.mktemp("nats")).start()
    yield server
    server.stop()


@pytest.fixture(params=["jetstream", "memory"])
async def bus(request: pytest.FixtureRequest) -> AsyncIterator[Bus]:
    """An empty log and a place for request and reply."""
    if request.param == "memory":
        yield MemoryBus(MemoryLog(), MemoryRpc())
        return
    server: NatsServer = request.getfixturevalue("contract_server")
    first: Connection = await connected(server, "first")
    await remove_stream(first)
    await ensure_stream(first)
    bus = JetStreamBus(server, first)
    yield bus
    await bus.close()


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
