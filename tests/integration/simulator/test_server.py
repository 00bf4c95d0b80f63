"""Server and session inside the test's own loop: what a process cannot be asked to do."""

import asyncio
import json
import socket

import pytest

from services.simulator import session as session_module
from services.simulator.broker import Broker
from services.simulator.exchange import Exchange
from services.simulator.journal_file import JournalError, JournalFile, NotStored
from services.simulator.lanes import Lanes
from services.simulator.lines import Lines
from services.simulator.listening import listen
from services.simulator.orders import Terms
from services.simulator.prices import load_prices
from services.simulator.server import Server
from services.simulator.session import Floor, Session
from services.simulator.waiting import Waiting
from shared.protocol.calendar import calendar
from tests.integration.simulator.client import CLOSE, ROWS, SLOT


@pytest.fixture
def broker(tmp_path):
    """A broker with the usual small file."""
    data = tmp_path / "prices.csv"
    data.write_text(ROWS)
    journal = JournalFile.open(tmp_path / "broker")
    yield Broker(Exchange(load_prices(data), Terms()), journal)
    journal.close()


@pytest.fixture
def floor(broker):
    return Floor(broker, calendar("XNYS"), Lanes(), Waiting())


def request(number: int, op: str, **fields: str) -> bytes:
    return json.dumps({"id": number, "op": op, **fields}).encode() + b"\n"


def codes(data: bytes) -> list[str | None]:
    """The error codes of answers, None for those without an error."""
    return [json.loads(line).get("error", {}).get("code") for line in data.splitlines()]


async def talk(floor: Floor, *lines: bytes) -> list[str | None]:
    """Send lines, end, and read everything that comes back."""
    near, far = socket.socketpair()
    with near, far:
        far.setblocking(False)
        near.sendall(request(1, "hello", client="test") + b"".join(lines))
        near.shutdown(socket.SHUT_WR)
        await asyncio.wait_for(Session(floor, Lines(far)).run(), 5)
        received = b""
        while chunk := near.recv(65_536):
            received += chunk
    return codes(received)


async def test_a_connection_that_ends_takes_its_waits_along(floor):
    seen: list[int] = []
    answer = session_module.Session._answer

    async def counting(self, asked):
        await asyncio.sleep(0)
        seen.append(len(floor.waiting))
        return await answer(self, asked)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(session_module.Session, "_answer", counting)
        await talk(floor, request(2, "wait", to=CLOSE["to"]), request(3, "wait", to=CLOSE["to"]), request(4, "clock"))
    assert seen == [2]
    assert len(floor.waiting) == 0


async def test_a_bug_in_one_answer_is_said_and_ends_nothing(floor, monkeypatch, caplog):
    def broken(broker, asked):
        raise ZeroDivisionError

    monkeypatch.setattr(session_module, "query", broken)
    assert await talk(floor, request(2, "clock"), request(3, "advance", **SLOT)) == [None, "internal", None]
    assert "request 2 of test failed" in caplog.text


async def test_what_could_not_be_stored_is_answered_and_not_done(floor, monkeypatch):
    def full(payload):
        raise NotStored("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(floor.broker._journal, "append", full)
        assert await talk(floor, request(2, "advance", **SLOT)) == [None, "not_stored"]
    assert floor.broker.state.clock is None
    assert await talk(floor, request(2, "advance", **SLOT)) == [None, None]


async def test_a_file_that_failed_ends_the_server(broker, tmp_path, monkeypatch):
    def broken(payload):
        raise JournalError("its end is uncertain")

    monkeypatch.setattr(broker._journal, "append", broken)
    with listen(tmp_path, 0) as listener:
        running = asyncio.create_task(Server(broker, calendar("XNYS")).run(listener, asyncio.Event()))
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(request(1, "hello", client="test") + request(2, "advance", **SLOT))
        with pytest.raises(JournalError, match="uncertain"):
            await asyncio.wait_for(running, 5)
        assert codes(await reader.read()) == [None]
        writer.close()
        await writer.wait_closed()
