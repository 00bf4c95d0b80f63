"""The socket shell: what happens to connections, apart from what is said over them."""

import asyncio
import struct

import pytest

from services.simulator.tws.framing import frame
from tests.support.tws import Desk, serving, until
from tests.unit.simulator.tws.raw import placed


class Wire:
    """A socket that speaks frames."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, *fields: object) -> None:
        self.writer.write(frame("".join(f"{field}\0" for field in fields).encode()))

    async def read(self) -> tuple[str, ...]:
        """The next message; empty at the end of the stream."""
        try:
            (size,) = struct.unpack("!I", await asyncio.wait_for(self.reader.readexactly(4), 5))
            return tuple((await self.reader.readexactly(size)).decode()[:-1].split("\0"))
        except (asyncio.IncompleteReadError, ConnectionError):
            return ()


@pytest.fixture
async def desk(tmp_path):
    async with serving(Desk(tmp_path)) as served:
        served.slot()
        yield served


@pytest.fixture
async def dial(desk):
    """Makes connections that have said their client id."""
    wires: list[Wire] = []

    async def make(client_id: int | None = 7) -> Wire:
        wire = Wire(*await asyncio.open_connection("127.0.0.1", desk.port))
        wires.append(wire)
        wire.writer.write(b"API\0" + frame(b"v157..178"))
        if client_id is not None:
            assert (await wire.read())[0] == "178"
            wire.send(71, 2, client_id, "")
            for _ in range(5):
                await wire.read()
        return wire

    yield make
    for wire in wires:
        wire.writer.close()


async def test_what_a_client_sent_before_it_died_is_carried_out_before_its_id_is_free(desk, dial):
    wire = await dial()
    for number in range(1, 21):
        wire.send(*placed(number, "150", f"r{number}"))
    await wire.writer.drain()
    wire.writer.close()
    second = await dial(None)
    await second.read()
    second.send(71, 2, 7, "")
    first_answer = await second.read()
    if first_answer[0] == "4":
        assert (first_answer[3], await second.read()) == ("326", ())
    await until(lambda: not desk.gateway.clients or len(desk.broker.orders) == 20)
    assert len(desk.broker.orders) == 20


async def test_a_gateway_that_is_away_refuses_connections_until_it_is_up_and_a_half_open_one_does_not_answer(desk, dial):
    wire = await dial()
    desk.fault("restart", refusing=True)
    assert await wire.read() == ()
    refused = await dial(None)
    assert await refused.read() == ()
    desk.fault("half_open")
    desk.fault("up")
    silent = await dial(None)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(silent.reader.read(1), 0.2)
    desk.fault("half_open", on=False)
    assert (await (await dial(None)).read())[0] == "178"


async def test_over_fifty_messages_a_second_are_answered_with_100_and_the_third_time_ends_the_connection(desk, dial):
    desk.fault("limits")
    wire = await dial(8)
    said: list[str] = []
    for _ in range(4):
        for _ in range(51):
            wire.send(49, 1)
    while fields := await wire.read():
        if fields[0] == "4":
            said.append(fields[3])
    assert said == ["100"] * 3


async def test_without_the_limit_a_thousand_messages_are_answered(desk, dial):
    wire = await dial(8)
    for _ in range(1000):
        wire.send(49, 1)
    assert [(await wire.read())[0] for _ in range(1000)] == ["49"] * 1000


async def test_two_clients_under_two_ids_are_served_side_by_side(desk, dial):
    first, second = await dial(1), await dial(2)
    first.send(49, 1)
    second.send(49, 1)
    assert (await first.read())[0] == (await second.read())[0] == "49"


async def test_bytes_that_are_no_frames_end_the_connection_and_nothing_else(desk, dial):
    reader, writer = await asyncio.open_connection("127.0.0.1", desk.port)
    writer.write(b"GET / HTTP/1.1\r\n\r\n")
    with pytest.raises(ConnectionError):
        assert await asyncio.wait_for(reader.read(), 5)
    writer.close()
    wire = await dial()
    wire.send(49, 1)
    assert (await wire.read())[0] == "49"
