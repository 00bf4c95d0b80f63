"""Reading the log by batched direct get: for sources, which may make no consumers on the server.

A hint on `hb.log` says that there is more; it is never trusted, and without one the reader looks every `POLL_S`.
"""

import asyncio
from typing import Final

import structlog

from shared.bus.direct_get import DirectGet
from shared.bus.link import Link
from shared.bus.log_check import LogCheck
from shared.bus.ports import NoResponder, Stored, Unavailable

BATCH: Final = 1000
POLL_S: Final = 0.25
PAUSE_S: Final = 0.1
SILENT_S: Final = 60.0
MAX_HINT_DIGITS: Final = 19

_log = structlog.get_logger("bus")


class DirectReader:
    """Batches of messages from a cursor on; at most one batch is asked for at a time."""

    def __init__(self, link: Link, direct: DirectGet, after: int) -> None:
        """Read from `after` + 1 on; nothing happens before the first batch is awaited."""
        self._link, self._direct = link, direct
        self._check = LogCheck(link, direct.one)
        self._cursor = after
        self._last: Stored | None = None
        self._more = True
        self._stale = True
        self._closed = False
        self._waiter: asyncio.Future[None] | None = None
        link.listen(self._disturbed)

    def __aiter__(self) -> "DirectReader":
        """Itself."""
        return self

    async def __anext__(self) -> list[Stored]:
        """Everything behind the cursor, at least one message. Cancelling it loses nothing.

        Raises `LogBroken` when sequences are missing or the stream is another one, `Unavailable` when a connected server does
        not answer for `SILENT_S`.
        """
        while not self._closed:
            found = await self._fetch()
            if found:
                return found
            await self._wait(POLL_S)
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Stop reading."""
        self._closed = True
        self._link.unlisten(self._disturbed)
        self._wake()

    def hint(self, payload: bytes) -> None:
        """Somebody says how long the log is."""
        if payload.isdigit() and len(payload) <= MAX_HINT_DIGITS and int(payload) > self._cursor:
            self._more = True
            self._wake()

    async def _fetch(self) -> list[Stored]:
        """One batch, which may be empty; tried again for `SILENT_S` of a connected server, without end for a lost one."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + SILENT_S
        while not self._closed:
            if not self._link.connected.is_set():
                await self._wait(POLL_S)
                deadline = loop.time() + SILENT_S
                continue
            try:
                return await self._read()
            except (Unavailable, NoResponder) as error:
                if loop.time() > deadline:
                    raise
                _log.warning("no messages yet", error=str(error))
                await asyncio.sleep(PAUSE_S)
        return []

    async def _read(self) -> list[Stored]:
        if self._stale:
            self._stale = False
            try:
                await self._check.run(self._cursor, self._last)
            except BaseException:
                self._stale = True
                raise
        self._more = False
        got = await self._direct.batch(self._cursor, BATCH)
        if got.messages:
            self._last = got.messages[-1]
            self._cursor = self._last.seq
            self._more = self._more or got.pending > 0
        return got.messages

    async def _wait(self, timeout_s: float) -> None:
        """Until a hint, a change of the connection, or the time is over."""
        if self._more and self._link.connected.is_set():
            return
        self._waiter = asyncio.get_running_loop().create_future()
        timer = asyncio.get_running_loop().call_later(timeout_s, self._wake)
        try:
            await self._waiter
        finally:
            timer.cancel()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _disturbed(self) -> None:
        """The connection was lost or is back: look again whether it is still the same log."""
        self._stale = self._more = True
        self._wake()
