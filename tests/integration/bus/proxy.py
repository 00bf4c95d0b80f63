"""A TCP proxy between client and nats-server that can lose what the server says, and cut the connection."""

import asyncio
from collections.abc import Callable

CHUNK = 65536


class Proxy:
    """Forwards everything; `keep` decides on each chunk from the server whether the client gets it."""

    def __init__(self, target_port: int) -> None:
        """Forward to a port of this machine."""
        self.target_port = target_port
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.keep: Callable[[bytes], bool] = lambda _chunk: True
        self.port = 0

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"nats://127.0.0.1:{self.port}"

    async def start(self, port: int = 0) -> "Proxy":
        """Listen on `port`, 0 for a free one."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self.target_port)
        except OSError:
            writer.close()
            return
        self._writers |= {writer, server_writer}
        for source, target, filtered in ((reader, server_writer, False), (server_reader, writer, True)):
            task = asyncio.create_task(self._forward(source, target, filtered))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _forward(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, filtered: bool) -> None:
        try:
            while chunk := await source.read(CHUNK):
                if not filtered or self.keep(chunk):
                    target.write(chunk)
                    await target.drain()
        except OSError:
            pass
        finally:
            target.close()

    def cut(self) -> None:
        """Break every connection; new ones are accepted."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def stop(self) -> None:
        """Break every connection and accept none."""
        assert self._server is not None
        self._server.close()
        self.cut()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()
