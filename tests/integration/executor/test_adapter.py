"""The adapter against a scripted other side: what was not answered to its end is unknown, and nothing is sent twice."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from services.executor.broker import BrokerLost, BrokerRefused, BrokerUnreadable, Incomplete
from services.executor.simulated.adapter import SimulatedBroker
from shared.protocol.market import Order, Side
from shared.protocol.money import Exact
from tests.integration.executor.rest import CLOSE, DAYS, SLOT
from tests.integration.simulator.client import Simulator

BUY = Order("A", "USD", Side.BUY, Exact(1), Exact(50))
WELCOME = {"protocol": 1, "account": "DU1", "currency": "USD"}
Script = Callable[[dict[str, Any]], dict[str, Any] | bytes | None]


class Counterpart:
    """A server whose answers are scripted by request: fields, raw bytes, or None to close the connection."""

    def __init__(self, port_file: Path, script: Script) -> None:
        self.port_file, self.script = port_file, script
        self.requests: list[dict[str, Any]] = []
        self.connections = 0
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port_file.write_text(str(self._server.sockets[0].getsockname()[1]))

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while line := await reader.readline():
            request = json.loads(line)
            self.requests.append(request)
            fields = WELCOME if request["op"] == "hello" else self.script(request)
            if fields is None:
                break
            whole = {"id": request["id"], "ok": True, "clock": SLOT, **fields} if isinstance(fields, dict) else fields
            writer.write(whole if isinstance(whole, bytes) else json.dumps(whole).encode() + b"\n")
            await writer.drain()
        writer.close()

    def sent(self, op: str) -> int:
        return sum(request["op"] == op for request in self.requests)


@pytest.fixture
async def against(tmp_path: Path) -> AsyncIterator[Callable[..., Any]]:
    """Makes a broker and its scripted other side."""
    made: list[tuple[SimulatedBroker, Counterpart]] = []

    async def make(script: Script) -> tuple[SimulatedBroker, Counterpart]:
        counterpart = Counterpart(tmp_path / f"port{len(made)}", script)
        await counterpart.start()
        made.append((SimulatedBroker(counterpart.port_file), counterpart))
        return made[-1]

    yield make
    for broker, counterpart in made:
        await broker.close()
        await counterpart.stop()


@pytest.fixture
async def at_simulator(broker: Simulator) -> AsyncIterator[SimulatedBroker]:
    """A broker on the real simulator."""
    made = SimulatedBroker(broker.folder / "port")
    yield made
    await made.close()


@pytest.mark.parametrize(
    ("op", "empty"),
    [
        ("positions", {"positions": []}),
        ("orders", {"orders": []}),
        ("executions", {"executions": []}),
        ("account", {"account": "DU1", "cash": {}}),
    ],
)
async def test_an_answer_without_its_end_marker_is_unknown_and_holds_nothing(against, op: str, empty: dict[str, Any]):
    broker, _ = await against(lambda _: {**empty, "end": False})
    assert await getattr(broker, op)() == Incomplete(op, SLOT)


async def test_an_order_whose_answer_never_came_is_not_sent_again_by_itself(against):
    broker, other = await against(lambda request: None if request["op"] == "place" else {})
    await broker.clock()
    with pytest.raises(BrokerLost):
        await broker.place("r", BUY, broker.connection)
    await broker.clock()
    assert (other.sent("place"), other.connections) == (1, 2)


async def test_an_order_decided_on_a_connection_that_ended_is_not_sent_on_the_next_one(against):
    broker, other = await against(lambda _: {})
    await broker.clock()
    decided_on = broker.connection
    await broker.renew()
    with pytest.raises(BrokerLost):
        await broker.place("r", BUY, decided_on)
    assert (other.sent("place"), broker.connection) == (0, decided_on + 1)


async def test_a_time_is_known_only_while_the_connection_that_named_it_is_open(against):
    broker, _ = await against(lambda request: None if request["op"] == "sync" else {})
    known = [broker.known_clock]
    await broker.clock()
    known.append(broker.known_clock)
    with pytest.raises(BrokerLost):
        await broker.sync()
    assert [*known, broker.known_clock] == [None, SLOT, None]


async def test_questions_under_way_are_lost_together_when_the_connection_ends(against):
    broker, _ = await against(lambda request: None if request["op"] == "sync" else {} if request["op"] == "clock" else b"")
    await broker.clock()
    answers = await asyncio.gather(broker.wait(CLOSE), broker.positions(), broker.sync(), return_exceptions=True)
    assert [type(answer) for answer in answers] == [BrokerLost] * 3


async def test_what_is_no_answer_ends_the_connection(against):
    broker, _ = await against(lambda _: b"not json\n")
    with pytest.raises(BrokerLost, match="broke"):
        await broker.clock()


async def test_an_answer_of_another_shape_is_not_guessed(against):
    broker, _ = await against(lambda _: {"positions": [{"symbol": "A", "currency": "USD", "quantity": 1.5}], "end": True})
    with pytest.raises(BrokerUnreadable):
        await broker.positions()


async def test_another_protocol_is_refused_at_once(against, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(WELCOME, "protocol", 2)
    broker, _ = await against(lambda _: {})
    with pytest.raises(BrokerUnreadable, match="protocol 2"):
        await broker.clock()


async def test_the_port_is_read_anew_at_each_connect(against):
    first, one = await against(lambda _: {})
    _, two = await against(lambda _: {})
    await first.clock()
    one.port_file.write_text(two.port_file.read_text())
    await first.renew()
    assert (one.connections, two.connections) == (1, 1)


async def test_a_refusal_carries_the_brokers_words(at_simulator: SimulatedBroker):
    with pytest.raises(BrokerRefused, match="no_clock") as refused:
        await at_simulator.observe(("A:USD",))
    assert refused.value.code == "no_clock"


async def test_more_names_than_one_request_takes_are_asked_in_several(broker: Simulator, at_simulator: SimulatedBroker):
    desk = broker.client("desk")
    desk.ask("advance", to=SLOT, step="slot", session=DAYS[0])
    desk.close()
    names = tuple(sorted([f"S{number}:USD" for number in range(2500)] + ["A:USD", "V:USD"]))
    seen = (await at_simulator.observe(names)).value
    assert [quote.key for quote in seen.quotes] == ["A:USD", "V:USD"]
    assert set(seen.ticks) == {"A:USD", "V:USD"}


async def test_a_second_connection_is_served_only_after_the_first_was_closed(broker: Simulator, at_simulator: SimulatedBroker):
    first = broker.client("executor")
    asking = asyncio.create_task(at_simulator.clock())
    done, _ = await asyncio.wait({asking}, timeout=0.2)
    assert not done
    first.close()
    assert await asking is None
