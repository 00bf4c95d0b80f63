"""Real servers: one for the session, fresh ones for the tests that stop or misconfigure them."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from shared.bus.jetstream import Connection, ensure_stream
from tests.integration.bus.servers import NatsServer, connected, remove_stream


@pytest.fixture(scope="session")
def nats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    """A server that stays up."""
    server = NatsServer(tmp_path_factory.mktemp("nats")).start()
    yield server
    server.stop()


@pytest.fixture
def make_server(tmp_path: Path) -> Iterator[Callable[..., NatsServer]]:
    """Starts servers of the test's own."""
    made: list[NatsServer] = []

    def make(**options: bool) -> NatsServer:
        server = NatsServer(tmp_path / f"nats{len(made)}", **options)
        made.append(server)
        return server.start()

    yield make
    for server in made:
        server.stop()


@pytest.fixture
async def connection(nats: NatsServer) -> AsyncIterator[Connection]:
    """A client of the session's server, with an empty stream."""
    client = await connected(nats)
    await remove_stream(client)
    await ensure_stream(client)
    yield client
    await client.close()
