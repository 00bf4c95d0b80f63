"""A real nats-server, and the journal as a real process on it."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from shared.bus.jetstream import Connection, connect, ensure_stream
from shared.bus.nats_config import server_config
from tests.integration.journal.stage import Process, until


@pytest.fixture
async def nats_url(tmp_path: Path) -> AsyncIterator[str]:
    """A nats-server of our own, configured as the desk does."""
    directory = tmp_path / "nats"
    directory.mkdir()
    config = directory / "server.conf"
    config.write_text(server_config(store_dir=directory / "js", ports_file_dir=directory))
    binary = Path(sys.executable).with_name("nats-server")
    with (directory / "server.log").open("wb") as output:
        server = await asyncio.create_subprocess_exec(binary, "-c", config, stdout=output, stderr=output)
    ports = directory / f"nats-server_{server.pid}.ports"

    async def listening() -> bool:
        return ports.exists() and ports.read_text().rstrip().endswith("}")

    try:
        await until(listening, "nats-server listens")
        url: str = msgspec.json.decode(ports.read_bytes())["nats"][0]
        yield url
    finally:
        server.kill()
        await server.wait()


@pytest.fixture
async def bus(nats_url: str) -> AsyncIterator[Connection]:
    """A connection with the stream made."""
    connection = await connect(nats_url, "desk")
    await ensure_stream(connection)
    try:
        yield connection
    finally:
        await connection.close()


@pytest.fixture
async def process(nats_url: str, tmp_path: Path) -> AsyncIterator[Process]:
    """A journal process, killed at the end if it still runs."""
    found = Process(nats_url, tmp_path / "data")
    try:
        yield found
    finally:
        if found._process is not None and found._process.returncode is None:
            found._process.kill()
            await found._process.wait()
