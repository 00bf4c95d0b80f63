"""The simulator's face: JSON lines on loopback, many connections, one broker."""

import asyncio
import socket
from collections.abc import Callable
from typing import Final

from services.simulator.accepting import MAX_CONNECTIONS, Acceptor
from services.simulator.broker import Broker
from services.simulator.encoding import encode
from services.simulator.lanes import Lanes
from services.simulator.lines import Lines
from services.simulator.session import Floor, Session
from services.simulator.waiting import Waiting
from shared.protocol.calendar import Calendar

_FULL: Final = {"code": "too_many_connections", "message": f"{MAX_CONNECTIONS} connections are open: close one and come again"}


class Server:
    """Serves one broker until it is stopped or its file can no longer be trusted."""

    def __init__(
        self, broker: Broker, calendar: Calendar, clock_mode: str = "step", fault: Callable[[bytes], None] | None = None
    ) -> None:
        """Serve `broker` with the hours of `calendar`; `fault` does what the TWS face is asked for."""
        self._floor = Floor(broker, calendar, Lanes(), Waiting(), clock_mode, fault)
        broker.watchers.append(lambda command, outcome: self._floor.waiting.reached(outcome.state.clock or ""))
        self._acceptor = Acceptor(self._connection)

    async def run(self, listener: socket.socket, stop: asyncio.Event) -> None:
        """Accept connections until `stop` is set; raises `JournalError` if the file failed meanwhile."""
        await self._acceptor.run(listener, stop)

    async def _connection(self, sock: socket.socket, full: bool) -> None:
        """Serve one connection and close it, whatever happens."""
        lines = Lines(sock)
        try:
            if full:
                await lines.send(encode({"id": None, "ok": False, "error": _FULL}) + b"\n")
            else:
                await Session(self._floor, lines).run()
        finally:
            lines.close()
