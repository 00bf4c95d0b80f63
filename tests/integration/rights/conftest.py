"""A real server with the accounts of a desk, and everybody's own key."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from shared.bus.jetstream import ensure_stream
from shared.bus.keys import Key
from tests.integration.rights.desk import USERS, AccountServer, Desk


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AccountServer]:
    """It stays up for a module."""
    server = AccountServer(tmp_path_factory.mktemp("accounts"), {name: Key.make() for name in USERS})
    server.start()
    yield server
    server.stop()


@pytest.fixture
async def desk(server: AccountServer) -> AsyncIterator[Desk]:
    """Connections of everybody, and a stream."""
    desk = Desk(server)
    await ensure_stream(await desk.connect("provisioner"))
    yield desk
    await desk.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of the test's own."""
    return tmp_path
