"""`python -m services.agent` as a process of its own on a real nats-server."""

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

from services.desk.server import find_binary
from shared.bus.jetstream import Connection, connect, ensure_stream
from shared.bus.nats_config import server_config
from shared.bus.ports import NoResponder, Unavailable
from shared.protocol.envelope import read_event
from shared.protocol.events import ProposalMade
from tests.integration.agent.stage import Stage

START_S = 20
PAUSE_S = 0.02


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[tuple[Connection, str]]:
    """A client of a server of its own with a fresh stream, and the server's address."""
    config = tmp_path / "nats.conf"
    config.write_text(server_config(store_dir=tmp_path / "js", ports_file_dir=tmp_path), encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        str(find_binary()), "-c", str(config), stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        url = await _url(tmp_path / f"nats-server_{process.pid}.ports")
        client = await connect(url, "desk")
        await ensure_stream(client)
        yield client, url
        await client.close()
    finally:
        process.terminate()
        await process.wait()


async def _url(ports: Path) -> str:
    """Where the server listens, once it says so."""
    async with asyncio.timeout(START_S):
        while True:
            if (url := _listening(ports)) is not None:
                return url
            await asyncio.sleep(PAUSE_S)


def _listening(ports: Path) -> str | None:
    """The address in the server's file of ports, None while it is not written."""
    try:
        return str(json.loads(ports.read_text(encoding="utf-8"))["nats"][0])
    except (OSError, ValueError):
        return None


@asynccontextmanager
async def agent_process(url: str, data_dir: Path, **more: str) -> AsyncIterator[Process]:
    """The agent as the supervisor starts it."""
    told = {"PROPDESK_NATS_URL": url, "PROPDESK_DESK": "test", "PROPDESK_DIR": str(data_dir), "PROPDESK_LOG_LEVEL": "info"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "services.agent", env={**os.environ, **told, **more}, stderr=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def _healthy(connection: Connection) -> dict[str, object]:
    """The answer of a ready agent."""
    async with asyncio.timeout(START_S):
        while True:
            try:
                answer = json.loads(await connection.rpc.request("rpc.agent.health", b"", 1))
            except (NoResponder, Unavailable):
                answer = {"ready": False}
            if answer["ready"]:
                return dict(answer)
            await asyncio.sleep(PAUSE_S)


async def test_it_becomes_ready_runs_a_slot_to_its_end_and_stops_cleanly_on_a_signal(
    server: tuple[Connection, str], tmp_path: Path
) -> None:
    connection, url = server
    stage = Stage("equal_weight", "hold", log=connection.log, rpc=connection.rpc)

    async with agent_process(url, tmp_path) as process:
        health = await _healthy(connection)
        await stage.open()
        async with asyncio.timeout(START_S):
            await stage.play()
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(START_S):
            _, errors = await process.communicate()
    await stage.close()

    assert (health["service"], health["pid"]) == ("agent", process.pid)
    assert (process.returncode, b"Traceback" in errors) == (0, False)
    last = await connection.log.last_seq()
    stored = [await connection.log.get(seq) for seq in range(1, last + 1)]
    events = [read_event(row.seq, row.subject, row.payload) for row in stored if row is not None]
    proposals = [event.expect(ProposalMade) for event in events if event.type == "ProposalMade"]
    assert [len(made.orders) for made in proposals] == [2, 0]
    assert sum(event.type == "RunEnded" for event in events) == 2


async def test_a_source_that_cannot_be_opened_ends_it_with_one_clear_line(server: tuple[Connection, str], tmp_path: Path) -> None:
    connection, url = server
    stage = Stage("file", argument=str(tmp_path / "missing.jsonl"), log=connection.log, rpc=connection.rpc)
    await stage.open()
    playing = asyncio.ensure_future(stage.play())

    async with agent_process(url, tmp_path) as process, asyncio.timeout(START_S):
        _, errors = await process.communicate()
    playing.cancel()
    await asyncio.gather(playing, return_exceptions=True)
    await stage.close()

    assert process.returncode == 1
    lines = [line for line in errors.decode().splitlines() if line.startswith("agent: ")]
    assert len(lines) == 1
    assert "missing.jsonl: cannot be read" in lines[0]


async def test_a_bad_setting_is_refused_by_its_name(tmp_path: Path) -> None:
    async with agent_process("nats://127.0.0.1:1", tmp_path, PROPDESK_HISTORY_PAUSE_S="0") as process, asyncio.timeout(START_S):
        _, errors = await process.communicate()

    assert process.returncode == 2
    assert "PROPDESK_HISTORY_PAUSE_S" in errors.decode()
