"""The simulator's face: JSON lines on loopback, many connections, one broker."""

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Final

from services.simulator.broker import Broker
from services.simulator.encoding import encode
from services.simulator.journal_file import JournalError
from services.simulator.lanes import Lanes
from services.simulator.lines import Lines
from services.simulator.session import Floor, Session
from services.simulator.waiting import Waiting
from shared.protocol.calendar import Calendar

MAX_CONNECTIONS: Final = 64
_ACCEPT_PAUSE_S: Final = 0.1
_FULL: Final = {"code": "too_many_connections", "message": f"{MAX_CONNECTIONS} connections are open: close one and come again"}
_log: Final = logging.getLogger(__name__)


class Server:
    """Serves one broker until it is stopped or its file can no longer be trusted."""

    def __init__(
        self, broker: Broker, calendar: Calendar, clock_mode: str = "step", fault: Callable[[bytes], None] | None = None
    ) -> None:
        """Serve `broker` with the hours of `calendar`; `fault` does what the TWS face is asked for."""
        self._floor = Floor(broker, calendar, Lanes(), Waiting(), clock_mode, fault)
        broker.watchers.append(lambda command, outcome: self._floor.waiting.reached(outcome.state.clock or ""))
        self._tasks: set[asyncio.Task[None]] = set()
        self._broken: JournalError | None = None

    async def run(self, listener: socket.socket, stop: asyncio.Event) -> None:
        """Accept connections until `stop` is set; raises `JournalError` if the file failed meanwhile."""
        accepting = asyncio.create_task(self._accept(listener, stop))
        try:
            await stop.wait()
        finally:
            await _end({accepting, *self._tasks})
        if self._broken is not None:
            raise self._broken

    async def _accept(self, listener: socket.socket, stop: asyncio.Event) -> None:
        """A task per connection."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                sock, _ = await loop.sock_accept(listener)
            except OSError as error:
                _log.warning("cannot accept a connection: %s", error)
                await asyncio.sleep(_ACCEPT_PAUSE_S)
                continue
            task = asyncio.create_task(self._connection(sock, stop, full=len(self._tasks) >= MAX_CONNECTIONS))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _connection(self, sock: socket.socket, stop: asyncio.Event, *, full: bool) -> None:
        """Serve one connection and close it, whatever happens."""
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        lines = Lines(sock)
        try:
            if full:
                await lines.send(encode({"id": None, "ok": False, "error": _FULL}) + b"\n")
            else:
                await Session(self._floor, lines).run()
        except JournalError as error:
            self._broken = error
            stop.set()
        finally:
            lines.close()


async def _end(tasks: set[asyncio.Task[None]]) -> None:
    """Cancel tasks and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
