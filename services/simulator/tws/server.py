"""The socket shell of the gateway: accepts, cuts frames out of bytes, feeds the gateway, writes what waits."""

import asyncio
import logging
import socket
import struct
from collections import deque
from typing import Final

from services.simulator.accepting import Acceptor
from services.simulator.journal_file import JournalError
from services.simulator.tws import outbound
from services.simulator.tws.client import Client
from services.simulator.tws.frame_log import FrameLog
from services.simulator.tws.framing import Deframer, FrameError, frame, pieces
from services.simulator.tws.gateway import Gateway

MAX_MESSAGES_PER_S: Final = 50
MAX_STRIKES: Final = 3
CHUNK_BYTES: Final = 65_536
TOO_FAST: Final = (100, "Max rate of messages per second has been exceeded: max=50 rec={count} (1)")
_RESET: Final = struct.pack("ii", 1, 0)
_log: Final = logging.getLogger(__name__)


class TwsServer:
    """Serves one gateway until it is stopped or the broker's file can no longer be trusted."""

    def __init__(self, gateway: Gateway, frames: FrameLog) -> None:
        """Serve `gateway`, logging frames."""
        self.gateway, self._frames = gateway, frames
        self._acceptor = Acceptor(self._connection)

    async def run(self, listener: socket.socket, stop: asyncio.Event) -> None:
        """Accept connections until `stop` is set; raises `JournalError` if the file failed meanwhile."""
        try:
            await self._acceptor.run(listener, stop)
        finally:
            self._frames.close()

    async def _connection(self, sock: socket.socket, full: bool) -> None:
        """Serve one connection and close it, whatever happens; only then is its client id free."""
        if full or self.gateway.conditions.refusing:
            sock.close()
            return
        wake = asyncio.Event()
        client = Client(wake.set)
        reading = asyncio.create_task(self._read(sock, client))
        writing = asyncio.create_task(self._write(sock, client, wake))
        try:
            done, _ = await asyncio.wait({reading, writing}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except JournalError:
            raise
        except Exception:
            _log.exception("the connection of client %s failed", client.id)
            client.abort()
        finally:
            for task in (reading, writing):
                task.cancel()
            await asyncio.gather(reading, writing, return_exceptions=True)
            if client.aborted:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            sock.close()
            self.gateway.leave(client)

    async def _read(self, sock: socket.socket, client: Client) -> None:
        """Feed the gateway until the end of the stream; what had arrived before the end is carried out."""
        loop, frames = asyncio.get_running_loop(), Deframer()
        greeted = False
        recent: deque[float] = deque()
        while True:
            try:
                data = await loop.sock_recv(sock, CHUNK_BYTES)
            except OSError:
                return
            if not data:
                return
            if not greeted and self.gateway.conditions.half_open:
                continue
            frames.feed(data)
            while not client.closing and (payload := _next(frames, client)) is not None:
                self._log(client, "server", payload)
                if not greeted:
                    self.gateway.greet(client, payload)
                    greeted = True
                elif self._in_time(client, recent, loop.time()):
                    self.gateway.handle(client, payload)
                await asyncio.sleep(0)

    async def _write(self, sock: socket.socket, client: Client, wake: asyncio.Event) -> None:
        """Write what waits, whenever something does; returns when the connection is to be ended."""
        loop = asyncio.get_running_loop()
        while True:
            await wake.wait()
            wake.clear()
            payloads = client.take()
            for payload in payloads:
                self._log(client, "client", payload)
            try:
                for data in pieces([frame(payload) for payload in payloads], *self.gateway.conditions.cut()):
                    await loop.sock_sendall(sock, data)
                    await asyncio.sleep(0)
            except OSError:
                # Whoever has gone is found out by reading, which first carries out what they sent.
                continue
            if client.aborted or (client.closing and not client.waiting):
                return

    def _in_time(self, client: Client, recent: deque[float], now: float) -> bool:
        """Whether the message comes within the limit of a second; the third time it does not, the connection ends."""
        if not self.gateway.conditions.limits:
            return True
        while recent and recent[0] <= now - 1:
            recent.popleft()
        recent.append(now)
        if len(recent) <= MAX_MESSAGES_PER_S:
            return True
        code, text = TOO_FAST
        client.send(outbound.error(outbound.SYSTEM, code, text.format(count=len(recent))))
        client.strikes += 1
        recent.clear()
        if client.strikes >= MAX_STRIKES:
            client.close()
        return False

    def _log(self, client: Client, to: str, payload: bytes) -> None:
        """One frame for the log."""
        self._frames.write(self.gateway.broker.state.clock, client.id, "server" if to == "server" else "client", payload)


def _next(frames: Deframer, client: Client) -> bytes | None:
    """The next payload; bytes that are no frames end the connection."""
    try:
        return frames.next()
    except FrameError as error:
        _log.error("client %s: %s", client.id, error)
        client.abort()
        return None
