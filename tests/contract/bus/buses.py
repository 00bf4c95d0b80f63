"""One face for the two buses under test."""

from typing import Protocol

from shared.bus.jetstream import Connection, ensure_stream
from shared.bus.memory import MemoryLog, MemoryRpc
from shared.bus.ports import Log, Rpc
from tests.integration.bus.servers import NatsServer, connected


class Bus(Protocol):
    """What a test asks of a bus."""

    async def client(self) -> tuple[Log, Rpc]:
        """The ports as one more process has them."""
        ...


class MemoryBus:
    """Everyone shares the same objects."""

    def __init__(self, log: MemoryLog, rpc: MemoryRpc) -> None:
        """Share these."""
        self._log, self._rpc = log, rpc

    async def client(self) -> tuple[Log, Rpc]:
        """The shared objects."""
        return self._log, self._rpc


class JetStreamBus:
    """Everyone has a connection of their own."""

    def __init__(self, server: NatsServer) -> None:
        """Connect to `server`."""
        self._server = server
        self._connections: list[Connection] = []

    async def make_stream(self) -> None:
        """What the desk does first."""
        self._connections.append(await connected(self._server, "desk"))
        await ensure_stream(self._connections[0])

    async def client(self) -> tuple[Log, Rpc]:
        """A new connection."""
        connection = await connected(self._server, f"client{len(self._connections)}")
        self._connections.append(connection)
        return connection.log, connection.rpc

    async def close(self) -> None:
        """End every connection."""
        for connection in self._connections:
            await connection.close()
