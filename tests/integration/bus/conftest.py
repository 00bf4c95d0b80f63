"""A real server for each test; it starts in some ten milliseconds."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from shared.bus.jetstream import Connection, ensure_stream
from tests.integration.bus.servers import NatsServer, connected


@pytest.fixture
def nats(tmp_path: Path) -> Iterator[NatsServer]:
    """A server without a stream."""
    server = NatsServer(tmp_path / "nats").start()
    yield server
    server.stop()


@pytest.fixture
def make_server(tmp_path: Path) -> Iterator[Callable[..., NatsServer]]:
    """Starts servers of the test's own."""
    made: list[NatsServer] = []

    def make(**options: bool) -> NatsServer:
        server = NatsServer(tmp_path / f"server{len(made)}", **options)
        made.append(server)
        return server.start()

    yield make
    for server in made:
        server.stop()


@pytest.fixture
async def bare(nats: NatsServer) -> AsyncIterator[Connection]:
    """A client of a server without a stream."""
    client = await connected(nats)
    yield client
    await client.close()


@pytest.fixture
async def connection(bare: Connection) -> Connection:
    """A client of a server with an empty stream."""
    await ensure_stream(bare)
    return bare
