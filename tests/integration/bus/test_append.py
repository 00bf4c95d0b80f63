"""Appending to a real server through a connection that breaks."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from shared.bus.jetstream import Connection, connect, ensure_stream
from shared.bus.ports import Append, BusError, Conflict, LogBroken, Unavailable
from shared.bus.stream import MAX_MESSAGE_BYTES
from tests.integration.bus.proxy import Proxy
from tests.integration.bus.servers import NatsServer, connected

BOUND_S = 20.0


def message(identity: str, fence_seq: int = 0, payload: bytes = b"{}") -> Append:
    return Append("ev.gate.b1.Verdict", identity, payload, "ev.gate.>", fence_seq, None)


@pytest.fixture
async def proxy(nats: NatsServer) -> AsyncIterator[Proxy]:
    """Between the client under test and the server."""
    made = await Proxy(nats.port).start()
    yield made
    await made.stop()


async def stored_behind(connection: Connection, seq: int) -> None:
    """Wait until the log has more than `seq` messages."""
    async with asyncio.timeout(BOUND_S):
        reading = connection.log.read(seq)
        await anext(reading)
        await reading.aclose()


async def test_an_append_whose_acknowledgement_was_lost_is_found_and_not_stored_twice(
    connection: Connection, proxy: Proxy
) -> None:
    client = await connect(proxy.url, "gate")
    await client.log.append(message("a"))
    proxy.keep = lambda _chunk: False
    appending = asyncio.create_task(client.log.append(message("b", 1)))
    await stored_behind(connection, 1)
    proxy.keep = lambda _chunk: True
    proxy.cut()
    async with asyncio.timeout(BOUND_S):
        assert await appending == 2
    assert await connection.log.last_seq() == 2
    await client.close()


async def test_an_append_whose_acknowledgement_was_lost_is_a_conflict_when_another_writer_followed(
    connection: Connection, proxy: Proxy
) -> None:
    client = await connect(proxy.url, "gate")
    await client.log.append(message("a"))
    proxy.keep = lambda _chunk: False
    appending = asyncio.create_task(client.log.append(message("b", 1)))
    await stored_behind(connection, 1)
    await connection.log.append(message("other", 2))
    proxy.keep = lambda _chunk: True
    proxy.cut()
    with pytest.raises(Conflict) as refusal:
        async with asyncio.timeout(BOUND_S):
            await appending
    assert refusal.value.last_seq == 3
    assert await connection.log.last_seq() == 3
    await client.close()


async def test_an_append_without_any_acknowledgement_ends_at_the_watchdog(connection: Connection, proxy: Proxy) -> None:
    client = await connect(proxy.url, "gate", watchdog_s=0.3)
    await proxy.stop()
    with pytest.raises(Unavailable, match=r"a was not acknowledged: .*, for 0\.3 s"):
        await client.log.append(message("a"))
    assert await connection.log.last_seq() == 0
    await client.close()


async def test_what_was_given_up_while_disconnected_is_not_stored_when_the_connection_is_back(
    connection: Connection, proxy: Proxy
) -> None:
    client = await connect(proxy.url, "gate", watchdog_s=0.3)
    await proxy.stop()
    with pytest.raises(Unavailable):
        await client.log.append(message("given up"))
    back = await Proxy(proxy.target_port).start(proxy.port)
    async with asyncio.timeout(BOUND_S):
        await client.link.connected.wait()
    assert await client.log.append(message("b")) == 1
    assert await connection.log.last_seq() == 1
    await client.close()
    await back.stop()


async def test_nothing_is_appended_to_the_log_of_another_server_that_took_the_place_of_the_own(
    make_server: Callable[..., NatsServer], connection: Connection, proxy: Proxy
) -> None:
    client = await connect(proxy.url, "gate")
    await client.log.append(message("a"))
    await proxy.stop()
    other_server = make_server()
    other = await connected(other_server)
    await ensure_stream(other)
    swapped = await Proxy(other_server.port).start(proxy.port)
    with pytest.raises(LogBroken, match="was replaced by one made at"):
        await client.log.append(Append("ev.executor.b1.OrderPlaced", "b", b"{}", "ev.executor.>", 0))
    assert await other.log.last_seq() == 0
    await client.close()
    await other.close()
    await swapped.stop()


async def test_a_message_that_the_server_refuses_for_its_size_is_an_error_that_says_so(connection: Connection) -> None:
    with pytest.raises(BusError, match="the log refuses big: message size exceeds maximum allowed"):
        await connection.log.append(message("big", payload=b"x" * (MAX_MESSAGE_BYTES + 1)))


async def test_a_subject_outside_the_stream_is_not_acknowledged(nats: NatsServer, connection: Connection) -> None:
    client = await connect(nats.url, "gate", watchdog_s=0.2)
    with pytest.raises(Unavailable):
        await client.log.append(Append("ev.gate.b1.Verdict.more", "a", b"{}", "ev.gate.>", 0))
    assert await connection.log.last_seq() == 0
    await client.close()


async def test_requests_open_when_the_connection_breaks_end_at_once(connection: Connection, proxy: Proxy) -> None:
    client = await connect(proxy.url, "gate")
    asked = asyncio.Event()

    async def never(_payload: bytes) -> bytes:
        asked.set()
        await asyncio.Event().wait()
        return b""

    await connection.rpc.serve("rpc.test.never", never)
    await connection.log.last_seq()
    asking = asyncio.create_task(client.rpc.request("rpc.test.never", b"", 1000.0))
    async with asyncio.timeout(BOUND_S):
        await asked.wait()
        proxy.cut()
        with pytest.raises(Unavailable, match="the connection to the server broke"):
            await asking
    await client.close()
