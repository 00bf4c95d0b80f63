"""A connection read and written line by line.

Not an asyncio stream: a stream forgets lines it has read once writing fails, and an order that a dying client sent must still
be carried out before anyone else is served under its name.
"""

import asyncio
import socket
from typing import Final

MAX_LINE_BYTES: Final = 1_000_000
_CHUNK_BYTES: Final = 65_536


class LineTooLong(Exception):
    """A line over `MAX_LINE_BYTES`; it was skipped and the next one can be read."""


class Lines:
    """One socket. Reading ends at the last whole line that arrived; writing to a client that has gone does nothing."""

    def __init__(self, sock: socket.socket) -> None:
        """Take over a connected, non-blocking socket."""
        self._sock = sock
        self._buffer = bytearray()
        self._searched = 0
        self._skipping = False
        self._gone = False
        self._writing = asyncio.Lock()

    async def next(self) -> bytes | None:
        """The next line without its newline, None at the end; raises `LineTooLong`."""
        while (end := self._buffer.find(b"\n", self._searched)) < 0:
            self._searched = len(self._buffer)
            if self._searched > MAX_LINE_BYTES:
                self._skipping = True
            if self._skipping:
                self._clear(self._searched)
            if not await self._more():
                return None
        line = bytes(self._buffer[:end])
        self._clear(end + 1)
        if self._skipping or len(line) > MAX_LINE_BYTES:
            self._skipping = False
            raise LineTooLong
        return line

    async def send(self, data: bytes) -> None:
        """Write whole lines; several may be sent at once from different tasks."""
        async with self._writing:
            if self._gone:
                return
            try:
                await asyncio.get_running_loop().sock_sendall(self._sock, data)
            except OSError:
                self._gone = True

    def close(self) -> None:
        """Close the socket."""
        self._sock.close()

    async def _more(self) -> bool:
        """Read on; False at the end of the stream, orderly or not."""
        try:
            data = await asyncio.get_running_loop().sock_recv(self._sock, _CHUNK_BYTES)
        except OSError:
            return False
        self._buffer += data
        return bool(data)

    def _clear(self, size: int) -> None:
        """Forget the first `size` bytes."""
        del self._buffer[:size]
        self._searched = 0
