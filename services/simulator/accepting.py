"""Accepts connections, one task each, until the work ends or the broker's file can no longer be trusted."""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import Final

from services.simulator.journal_file import JournalError

MAX_CONNECTIONS: Final = 64
ACCEPT_PAUSE_S: Final = 0.1
_log: Final = logging.getLogger(__name__)

Serve = Callable[[socket.socket, bool], Awaitable[None]]
"""Serves one connection and closes it, whatever happens; told whether as many as may be are open already."""


class Acceptor:
    """The connections of one listening socket."""

    def __init__(self, serve: Serve) -> None:
        """Nothing is accepted yet."""
        self._serve = serve
        self._tasks: set[asyncio.Task[None]] = set()
        self._broken: JournalError | None = None

    async def run(self, listener: socket.socket, stop: asyncio.Event) -> None:
        """Accept until `stop` is set, then end all connections; raises `JournalError` if the file failed meanwhile."""
        accepting = asyncio.create_task(self._accept(listener, stop))
        try:
            await stop.wait()
        finally:
            tasks = {accepting, *self._tasks}
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
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
                await asyncio.sleep(ACCEPT_PAUSE_S)
                continue
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            task = asyncio.create_task(self._connection(sock, stop, full=len(self._tasks) >= MAX_CONNECTIONS))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _connection(self, sock: socket.socket, stop: asyncio.Event, *, full: bool) -> None:
        """Serve one; a file that failed ends everything."""
        try:
            await self._serve(sock, full)
        except JournalError as error:
            self._broken = error
            stop.set()
