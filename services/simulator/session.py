"""One connection: its hello, its turn under its client id, its requests and their answers.

A request is carried out in one piece, between two awaits, so that a connection can be ended at any moment without leaving half
of one behind. Requests of one connection are answered in order; `wait` alone is answered when its time has come.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final, NamedTuple

from services.simulator import requests as ask
from services.simulator.answers import Answer, change, query
from services.simulator.broker import Broker
from services.simulator.encoding import encode
from services.simulator.journal_file import JournalError, NotStored
from services.simulator.lanes import LaneBusy, Lanes
from services.simulator.lines import MAX_LINE_BYTES, Lines, LineTooLong
from services.simulator.requests import RequestError, read_request
from services.simulator.waiting import Waiting
from shared.protocol.calendar import Calendar

MAX_WAITS: Final = 64
PROTOCOL: Final = 1
NAME: Final = "propdesk-simulator"
_log: Final = logging.getLogger(__name__)


class Floor(NamedTuple):
    """What all connections share."""

    broker: Broker
    calendar: Calendar
    lanes: Lanes
    waiting: Waiting
    clock_mode: str = "step"
    fault: Callable[[bytes], None] | None = None


class Session:
    """One connection from its first line to its end."""

    def __init__(self, floor: Floor, lines: Lines) -> None:
        """Serve `lines`; call `run` once."""
        self._floor, self._lines = floor, lines
        self._client = ""
        self._waits: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Greet and serve until the client has gone; raises `JournalError` when the simulator must end."""
        hello = await self._next()
        while hello is not None and not isinstance(hello, ask.Hello):
            await self._fail(RequestError("hello_first", 'begin with {"id":1,"op":"hello","client":"…"}', hello.id))
            hello = await self._next()
        if hello is None:
            return
        try:
            async with self._floor.lanes.turn(hello.client):
                await self._serve(hello)
        except LaneBusy:
            advice = f"too many connections wait for the client id {hello.client}: end them, or drop_session the first"
            await self._fail(RequestError("session_busy", advice, hello.id))

    async def _serve(self, hello: ask.Hello) -> None:
        """Answer everything up to the end, and close before anyone else has this client id's turn."""
        self._client = hello.client
        try:
            await self._reply(hello.id, self._welcome())
            while (request := await self._next()) is not None:
                await self._step(request)
                await asyncio.sleep(0)
        finally:
            await self._end_waits()
            self._lines.close()

    async def _next(self) -> ask.AnyRequest | None:
        """The next request that can be read, None at the end; what cannot is answered here."""
        while True:
            try:
                line = await self._lines.next()
                return None if line is None else read_request(line)
            except RequestError as error:
                await self._fail(error)
            except LineTooLong:
                await self._fail(RequestError("line_too_long", f"a line has at most {MAX_LINE_BYTES} bytes: send less at once"))

    async def _step(self, request: ask.AnyRequest) -> None:
        """Carry out one request and answer it, also when it failed."""
        try:
            if isinstance(request, ask.Wait):
                self._begin_wait(request)
            else:
                await self._reply(request.id, await self._answer(request))
        except RequestError as error:
            await self._fail(RequestError(error.code, str(error), request.id))
        except NotStored as error:
            await self._fail(RequestError("not_stored", str(error), request.id))
        except JournalError:
            raise
        except Exception:
            _log.exception("request %d of %s failed", request.id, self._client)
            await self._fail(RequestError("internal", "the simulator failed on this request: see its log", request.id))

    async def _answer(self, request: ask.Hello | ask.DropSession | ask.Fault | ask.Query | ask.Change) -> Answer:
        """The fields of the answer; raises `RequestError`."""
        if isinstance(request, ask.Hello):
            raise RequestError("bad_request", f"this connection is {self._client}'s already: open another one")
        if isinstance(request, ask.DropSession):
            return await self._drop(request)
        if isinstance(request, ask.Fault):
            return self._fault(request)
        if isinstance(request, ask.AdvanceTo) and self._floor.clock_mode != "step":
            raise RequestError(
                "bad_advance", f"time moves by itself here (clock {self._floor.clock_mode}): start it with clock step"
            )
        if isinstance(request, ask.Change):
            return change(self._floor.broker, self._floor.calendar, self._client, request)
        return query(self._floor.broker, request)

    def _fault(self, request: ask.Fault) -> Answer:
        """Make something go wrong, where there is a TWS face."""
        if self._floor.fault is None:
            raise RequestError("no_tws", "this simulator has no TWS face: start it with a TWS port")
        try:
            self._floor.fault(bytes(request.fault))
        except ValueError as error:
            raise RequestError("bad_fault", str(error)) from error
        return {}

    async def _drop(self, request: ask.DropSession) -> Answer:
        """End the connection of another client id."""
        if request.client == self._client:
            raise RequestError("bad_request", "drop_session ends another client's connection: close this one instead")
        return {"dropped": await self._floor.lanes.drop(request.client)}

    def _begin_wait(self, request: ask.Wait) -> None:
        """Answer later, from a task of its own."""
        if len(self._waits) >= MAX_WAITS:
            raise RequestError("too_many_waits", f"{MAX_WAITS} waits are open on this connection: wait for one of them")
        task = asyncio.create_task(self._wait(request))
        self._waits.add(task)
        task.add_done_callback(self._waits.discard)

    async def _wait(self, request: ask.Wait) -> None:
        """Answer when the clock has come so far."""
        clock = self._floor.broker.state.clock
        if clock is None or clock < request.to:
            await self._floor.waiting.until(request.to)
        await self._reply(request.id, {})

    async def _end_waits(self) -> None:
        """End them before the socket is closed: one that still writes would meddle with the next socket of that number."""
        waits = set(self._waits)
        for wait in waits:
            wait.cancel()
        if waits:
            await asyncio.wait(waits)

    def _welcome(self) -> Answer:
        """Who is speaking here, and about what."""
        file, terms = self._floor.broker.exchange.file, self._floor.broker.exchange.terms
        return {
            "server": NAME,
            "protocol": PROTOCOL,
            "clock_mode": self._floor.clock_mode,
            "account": terms.account,
            "base_currency": terms.base_currency,
            "currency": terms.currency,
            "data_sha256": file.sha256,
            "first_session": file.sessions[0].isoformat(),
            "last_session": file.sessions[-1].isoformat(),
        }

    async def _reply(self, request_id: int, fields: Answer) -> None:
        """Send an answer."""
        await self._send({"id": request_id, "ok": True, "clock": self._floor.broker.state.clock, **fields})

    async def _fail(self, error: RequestError) -> None:
        """Send an error."""
        said = {"code": error.code, "message": str(error)}
        await self._send({"id": error.request_id, "ok": False, "error": said})

    async def _send(self, answer: Answer) -> None:
        """Send one line."""
        await self._lines.send(encode(answer) + b"\n")
