"""Everybody who may connect, each with its own key, and a plain client that notes what the server refuses."""

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shared.bus.accounts import accounts_config
from shared.bus.jetstream import Connection, connect
from shared.bus.keys import Key
from shared.bus.link import User
from shared.bus.rights import inbox_of
from tests.integration.bus.servers import NatsServer
from tests.support.keyed import connect_keyed

AUTHORS = ("desk", "gate", "executor", "journal")
SOURCES = ("agent/b1", "agent/b2")
USERS = (*AUTHORS, *SOURCES, "provisioner")
REFUSED = re.compile(r'permissions violation for (publish|subscription) to "([^"]+)"', re.IGNORECASE)


class AccountServer(NatsServer):
    """A server that knows these users and nobody else, each in its account."""

    def __init__(self, directory: Path, keys: Mapping[str, Key]) -> None:
        """`keys` by name."""
        super().__init__(directory)
        self.keys = keys

    def _config(self, run: Path) -> str:
        return super()._config(run) + accounts_config({name: key.public for name, key in self.keys.items()})


class Plain:
    """nats-py's own client as one user; `refused` holds what the server has refused."""

    def __init__(self) -> None:
        self.client: Any = None
        self.refused: set[tuple[str, str]] = set()
        self._changed = asyncio.Event()
        self._flushes = 0

    async def open(self, server: AccountServer, name: str) -> "Plain":
        author, _, book = name.partition("/")
        self.client = await connect_keyed(
            server.url,
            server.keys[name],
            inbox_prefix=inbox_of(author, book).encode(),
            error_cb=self._error,
        )
        return self

    async def _error(self, error: Exception) -> None:
        found = REFUSED.search(str(error))
        if found:
            self.refused.add((found[1].lower(), found[2]))
            self._changed.set()

    async def flush(self) -> None:
        """Wait until the server has refused something that comes after everything else."""
        self._flushes += 1
        last = f"nobody.may.{self._flushes}"
        await self.client.publish(last, b"")
        async with asyncio.timeout(10):
            while ("publish", last) not in self.refused:
                self._changed.clear()
                await self._changed.wait()


class Desk:
    """Connections to one server."""

    def __init__(self, server: AccountServer) -> None:
        self.server = server
        self._open: list[Any] = []

    async def connect(self, name: str) -> Connection:
        """As a service or a source connects."""
        author, _, book = name.partition("/")
        connection = await connect(self.server.url, author, user=User(self.server.keys[name], author, book))
        self._open.append(connection)
        return connection

    async def plain(self, name: str) -> Plain:
        """A client that can send anything."""
        plain = await Plain().open(self.server, name)
        self._open.append(plain.client)
        return plain

    async def close(self) -> None:
        for connection in self._open:
            await connection.close()
