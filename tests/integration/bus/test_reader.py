"""Reading a real log through everything that can happen to a connection, a consumer and a stream."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from shared.bus.consumer import BATCH
from shared.bus.jetstream import Connection, connect, ensure_stream
from shared.bus.js_api import call
from shared.bus.ports import Append, LogBroken, Reading, Refused, Stored
from shared.bus.stream import CONFIG
from tests.integration.bus.proxy import Proxy
from tests.integration.bus.servers import NatsServer, connected, eventually, remove_stream

BOUND_S = 30.0
MANY = 20_000
MakeServer = Callable[..., NatsServer]


async def append(connection: Connection, first: int, last: int) -> None:
    """Store the messages number `first` to `last`, whose number is their sequence."""
    for number in range(first, last + 1):
        message = Append("ev.gate.b1.Verdict", f"id{number}", b"%d" % number, "ev.gate.>", number - 1)
        assert await connection.log.append(message) == number


async def fill(connection: Connection, count: int) -> None:
    """Store `count` messages at once, without any expectation."""
    ask = connection.link.ask
    for start in range(0, count, BATCH):
        numbers = range(start, min(start + BATCH, count))
        await asyncio.gather(*(ask("ev.gate.b1.Verdict", b"%d" % n, BOUND_S) for n in numbers))


async def take(reading: Reading, count: int) -> list[Stored]:
    """At least `count` messages."""
    found: list[Stored] = []
    async with asyncio.timeout(BOUND_S):
        while len(found) < count:
            found += await anext(reading)
    return found


async def consumers(connection: Connection) -> list[str]:
    """The names of the stream's consumers."""
    answer = await call(connection.link, "CONSUMER.NAMES.EV", None, dict[str, Any])
    names: list[str] | None = answer["consumers"]
    return names or []


def sequences(found: list[Stored]) -> list[int]:
    return [stored.seq for stored in found]


@pytest.fixture
async def proxy(nats: NatsServer) -> AsyncIterator[Proxy]:
    """Between the reader and the server."""
    made = await Proxy(nats.port).start()
    yield made
    await made.stop()


async def test_a_reader_goes_on_where_it_was_after_its_connection_broke(connection: Connection, proxy: Proxy) -> None:
    client = await connect(proxy.url, "reader")
    reading = client.log.read(0)
    await append(connection, 1, 3)
    assert sequences(await take(reading, 3)) == [1, 2, 3]
    proxy.cut()
    await append(connection, 4, 6)
    assert sequences(await take(reading, 3)) == [4, 5, 6]
    await reading.aclose()
    await client.close()


async def test_a_delivery_lost_on_the_way_is_read_again(connection: Connection, proxy: Proxy) -> None:
    client = await connect(proxy.url, "reader")
    reading = client.log.read(0)
    await append(connection, 1, 1)
    assert sequences(await take(reading, 1)) == [1]
    lost = asyncio.Event()

    def lose_the_second(chunk: bytes) -> bool:
        if b"Nats-Msg-Id: id2\r\n" not in chunk or lost.is_set():
            return True
        lost.set()
        return False

    proxy.keep = lose_the_second
    await append(connection, 2, 2)
    async with asyncio.timeout(BOUND_S):
        await lost.wait()
    await append(connection, 3, 3)
    assert sequences(await take(reading, 2)) == [2, 3]
    await reading.aclose()
    await client.close()


async def test_a_reader_whose_consumer_was_deleted_makes_a_new_one(connection: Connection) -> None:
    reading = connection.log.read(0)
    await append(connection, 1, 2)
    assert sequences(await take(reading, 2)) == [1, 2]
    for name in await consumers(connection):
        await call(connection.link, f"CONSUMER.DELETE.EV.{name}", None, dict[str, object])
    await append(connection, 3, 4)
    assert sequences(await take(reading, 2)) == [3, 4]
    await reading.aclose()


async def test_a_closed_reader_leaves_no_consumer(connection: Connection) -> None:
    reading = connection.log.read(0)
    await append(connection, 1, 1)
    await take(reading, 1)
    await reading.aclose()

    async def none_left() -> bool:
        return not await consumers(connection)

    await eventually(none_left)


async def test_a_stream_that_was_replaced_breaks_the_reader(nats: NatsServer, connection: Connection, proxy: Proxy) -> None:
    client = await connect(proxy.url, "reader")
    reading = client.log.read(0)
    await append(connection, 1, 2)
    await take(reading, 2)
    await proxy.stop()
    await remove_stream(connection)
    await ensure_stream(connection)
    await append(connection, 1, 3)
    back = await Proxy(proxy.target_port).start(proxy.port)
    with pytest.raises(LogBroken, match="was replaced by one made at"):
        await take(reading, 1)
    await reading.aclose()
    await client.close()
    await back.stop()


async def test_a_stream_that_was_removed_breaks_the_reader(connection: Connection) -> None:
    reading = connection.log.read(0)
    await append(connection, 1, 2)
    await take(reading, 2)
    await remove_stream(connection)
    with pytest.raises(LogBroken, match="there is no stream EV"):
        await take(reading, 1)
    await reading.aclose()


async def test_a_log_that_ends_before_the_cursor_is_not_read(connection: Connection) -> None:
    await append(connection, 1, 2)
    reading = connection.log.read(5)
    with pytest.raises(LogBroken, match="sequences 3 to 5 are lost"):
        await take(reading, 1)
    await reading.aclose()


async def test_a_log_with_a_hole_is_not_read(bare: Connection) -> None:
    connection = bare
    await call(connection.link, "STREAM.CREATE.EV", {**CONFIG, "deny_delete": False}, dict[str, object])
    await append(connection, 1, 5)
    await call(connection.link, "STREAM.MSG.DELETE.EV", {"seq": 3}, dict[str, object])
    reading = connection.log.read(0)
    with pytest.raises(LogBroken, match="lacks 1 of the sequences 1 to 5, namely 3,"):
        await take(reading, 1)
    await reading.aclose()


async def test_a_hole_that_appears_while_reading_breaks_the_reader_behind_what_stands_before_it(
    bare: Connection, proxy: Proxy
) -> None:
    connection = bare
    await call(connection.link, "STREAM.CREATE.EV", {**CONFIG, "deny_delete": False}, dict[str, object])
    client = await connect(proxy.url, "reader")
    reading = client.log.read(0)
    await append(connection, 1, 1)
    assert sequences(await take(reading, 1)) == [1]
    proxy.keep = lambda chunk: b"Nats-Msg-Id: id2\r\n" not in chunk
    await append(connection, 2, 2)
    await call(connection.link, "STREAM.MSG.DELETE.EV", {"seq": 2}, dict[str, object])
    await connection.log.append(Append("ev.gate.b1.Verdict", "id3", b"3", "ev.gate.>", 1))
    with pytest.raises(LogBroken, match="lacks 1 of the sequences 1 to 3, namely 2,"):
        await take(reading, 1)
    await reading.aclose()
    await client.close()


async def test_acknowledgement_subjects_of_version_2_fail_loudly(make_server: MakeServer) -> None:
    client = await connected(make_server(ack_v2=True))
    await ensure_stream(client)
    await append(client, 1, 1)
    reading = client.log.read(0)
    with pytest.raises(Refused, match="js_ack_fc_v2: false"):
        await take(reading, 1)
    await reading.aclose()
    await client.close()


@pytest.fixture
async def filled(make_server: MakeServer) -> AsyncIterator[Connection]:
    """A log of `MANY` messages; flushed lazily, else filling it takes most of the test's time."""
    client = await connected(make_server(lazy=True))
    await ensure_stream(client)
    await fill(client, MANY)
    yield client
    await client.close()


async def test_twenty_thousand_messages_are_read_once_and_in_order(filled: Connection) -> None:
    reading = filled.log.read(0)
    found = await take(reading, MANY)
    await reading.aclose()
    assert sequences(found) == list(range(1, MANY + 1))
    assert sorted(int(stored.payload) for stored in found) == list(range(MANY))


async def test_a_reader_that_takes_nothing_stops_the_flow_and_loses_nothing(filled: Connection) -> None:
    reading = filled.log.read(0)
    found = await take(reading, 1)
    for _ in range(20):  # round trips in which the server could send everything
        await filled.log.last_seq()
    held = await anext(reading)
    assert len(held) <= 2.5 * BATCH
    found += held
    found += await take(reading, MANY - len(found))
    await reading.aclose()
    assert sequences(found) == list(range(1, MANY + 1))
