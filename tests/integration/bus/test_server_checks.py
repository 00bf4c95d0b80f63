"""Which servers and streams are refused, on real ones."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.bus.jetstream import Connection, check_server, connect, ensure_stream
from shared.bus.js_api import API_TIMEOUT_S, call, stream_info
from shared.bus.ports import LogBroken, Refused, Unavailable
from shared.bus.stream import CONFIG
from tests.integration.bus.servers import NatsServer, connected

MakeServer = Callable[..., NatsServer]


async def test_a_server_that_flushes_every_write_is_accepted(nats: NatsServer, connection: Connection) -> None:
    await check_server(connection, nats.monitor_url)


async def test_a_server_that_flushes_lazily_is_refused_with_what_to_do(make_server: MakeServer) -> None:
    server = make_server(lazy=True)
    client = await connected(server)
    with pytest.raises(Refused, match="sync_interval: always"):
        await check_server(client, server.monitor_url)
    await client.close()


async def test_the_monitoring_endpoint_of_another_server_proves_nothing(make_server: MakeServer, connection: Connection) -> None:
    with pytest.raises(Refused, match="monitors another nats-server"):
        await check_server(connection, make_server().monitor_url)


async def test_a_monitoring_endpoint_that_does_not_answer_is_said(connection: Connection) -> None:
    with pytest.raises(Unavailable, match="jsz does not answer"):
        await check_server(connection, "http://127.0.0.1:1")


@pytest.mark.parametrize("version", ["2.14.7", "2.16.0", "3.15.1"])
async def test_a_server_of_an_untested_version_is_refused(version: str) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        info = {"server_id": "X", "version": version, "max_payload": 1048576, "headers": True}
        writer.write(b"INFO " + json.dumps(info).encode() + b"\r\n")
        while line := await reader.readline():
            if line == b"PING\r\n":
                writer.write(b"PONG\r\n")
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    with pytest.raises(Refused, match=f"{version}.* is not the tested nats-server 2.15"):
        await connect(f"nats://127.0.0.1:{server.sockets[0].getsockname()[1]}", "test")
    server.close()
    await server.wait_closed()


async def test_a_client_that_comes_before_the_server_connects_when_it_starts(tmp_path: Path) -> None:
    server = NatsServer(tmp_path).start()
    server.stop()
    early = asyncio.create_task(connect(server.url, "early"))
    await asyncio.sleep(0)
    await asyncio.to_thread(server.start)
    client = await early
    assert await client.alive(API_TIMEOUT_S)
    await client.close()
    server.stop()


async def test_a_server_that_never_comes_is_unavailable() -> None:
    with pytest.raises(Unavailable, match=r"no NATS server lets this process in at nats://127\.0\.0\.1:1 within 0\.2 s"):
        await connect("nats://127.0.0.1:1", "test", wait_s=0.2)


async def test_a_listener_that_says_nothing_is_unavailable() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    with pytest.raises(Unavailable):
        await connect(f"nats://127.0.0.1:{server.sockets[0].getsockname()[1]}", "test", wait_s=0.2)
    server.close()
    await server.wait_closed()


async def test_the_stream_is_made_once_and_as_wanted(connection: Connection) -> None:
    await ensure_stream(connection)
    info = await stream_info(connection.link)
    assert info is not None
    assert {name: info.config[name] for name in CONFIG} == CONFIG
    assert info.config["deny_delete"] is True
    assert info.config["deny_purge"] is True
    assert info.config["duplicate_window"] == 120_000_000_000
    assert info.config["max_age"] == 0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("deny_purge", False),
        ("deny_delete", False),
        ("max_age", 3_600_000_000_000),
        ("max_msgs", 1000),
        ("discard", "old"),
        ("storage", "memory"),
        ("allow_rollup_hdrs", True),
        ("allow_msg_ttl", True),
        ("allow_atomic", True),
        ("persist_mode", "async"),
        ("duplicate_window", 1_000_000_000),
        ("subjects", ["ev.gate.*.*"]),
        ("max_msg_size", -1),
    ],
)
async def test_a_stream_configured_otherwise_is_refused_naming_the_field(bare: Connection, field: str, value: object) -> None:
    config = {**CONFIG, field: value}
    if field == "allow_rollup_hdrs":
        config["deny_purge"] = False  # the server refuses both
    if field == "persist_mode":
        del config["deny_delete"], config["deny_purge"]
    await call(bare.link, "STREAM.CREATE.EV", config, dict[str, object])
    with pytest.raises(Refused, match=f"{field} is "):
        await ensure_stream(bare)


async def test_a_missing_stream_is_said_and_not_made_by_a_reader(bare: Connection) -> None:
    with pytest.raises(LogBroken, match="there is no stream EV"):
        await bare.log.last_seq()
    reading = bare.log.read(0)
    with pytest.raises(LogBroken, match="there is no stream EV"):
        await anext(reading)
    await reading.aclose()
    assert await stream_info(bare.link) is None
