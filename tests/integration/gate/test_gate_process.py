"""`python -m services.gate` as a process of its own on a real nats-server."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from shared.bus.jetstream import Connection, ensure_stream
from shared.bus.ports import NoResponder, Unavailable
from shared.protocol.envelope import Event, read_event
from tests.integration.bus.servers import NatsServer, connected
from tests.integration.gate.rest import Rest

START_S = 20
PAUSE_S = 0.02


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[tuple[Connection, NatsServer]]:
    """A server of the test's own with a fresh stream, and a client of it."""
    nats = NatsServer(tmp_path / "nats").start()
    client = await connected(nats)
    await ensure_stream(client)
    yield client, nats
    await client.close()
    nats.stop()


@asynccontextmanager
async def gate_process(url: str, data_dir: Path, **more: str) -> AsyncIterator[Process]:
    """The gate as the supervisor starts it."""
    told = {"PROPDESK_NATS_URL": url, "PROPDESK_DESK": "test", "PROPDESK_DIR": str(data_dir), **more}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "services.gate", env={**os.environ, **told}, stderr=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def healthy(connection: Connection) -> dict[str, object]:
    """The answer of a ready gate."""
    async with asyncio.timeout(START_S):
        while True:
            try:
                answer = json.loads(await connection.rpc.request("rpc.gate.health", b"", 1))
            except (NoResponder, Unavailable):
                answer = {"ready": False}
            if answer["ready"]:
                return dict(answer)
            await asyncio.sleep(PAUSE_S)


async def stored(connection: Connection) -> list[Event]:
    """Everything that the gate wrote."""
    rows = [await connection.log.get(seq) for seq in range(1, await connection.log.last_seq() + 1)]
    events = [read_event(row.seq, row.subject, row.payload) for row in rows if row is not None]
    return [event for event in events if event.author == "gate"]


async def test_it_becomes_ready_works_through_a_session_answers_checks_and_stops_cleanly(
    server: tuple[Connection, NatsServer], tmp_path: Path
) -> None:
    connection, nats = server
    rest = Rest("alpha", log=connection.log, rpc=connection.rpc)

    async with gate_process(nats.url, tmp_path) as process:
        health = await healthy(connection)
        await rest.open()
        async with asyncio.timeout(START_S):
            await rest.session()
        answer = json.loads(await connection.rpc.request("rpc.gate.check", b'{"book": "alpha", "orders": []}', START_S))
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(START_S):
            _, errors = await process.communicate()
    await rest.close()

    assert (health["service"], health["pid"]) == ("gate", process.pid)
    assert answer["error"]["code"] == "not_now"  # nobody answers for the executor here
    assert (process.returncode, b"Traceback" in errors) == (0, False)
    assert [event.type for event in await stored(connection)] == [
        "BookValued",
        "RunCleared",
        "Verdict",
        "BookValued",
        "StateHashed",
    ]


async def test_a_bad_setting_is_refused_by_its_name(tmp_path: Path) -> None:
    async with gate_process("nats://127.0.0.1:1", tmp_path, PROPDESK_QUOTES_TIMEOUT_S="0") as process, asyncio.timeout(START_S):
        _, errors = await process.communicate()

    assert process.returncode == 2
    assert "PROPDESK_QUOTES_TIMEOUT_S" in errors.decode()
