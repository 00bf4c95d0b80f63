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
from shared.bus.waiting import BatchReading, Waiters

BATCH: Final = 1000
MAX_HELD: Final = 2000
POLL_S: Final = 0.25
PAUSE_S: Final = 0.1
MAX_FAILURES: Final = 600
MAX_HINT_DIGITS: Final = 19

_log = structlog.get_logger("bus")


class DirectReader(BatchReading):
    """Messages from a cursor on; at most one batch is asked for at a time, none while more than `MAX_HELD` are held."""

    def __init__(self, link: Link, direct: DirectGet, check: LogCheck, after: int) -> None:
        """Read from `after` + 1 on; nothing happens before the first wait."""
        super().__init__()
        self._link, self._direct, self._check = link, direct, check
        self._cursor = after
        self._last: Stored | None = None
        self._held: list[Stored] = []
        self._problem: Exception | None = None
        self._epoch = -1
        self._more = asyncio.Event()
        self._waiters = Waiters()
        self._keeper: asyncio.Task[None] | None = None
        link.listen(self._more.set)

    def take(self) -> list[Stored]:
        """Everything that arrived since the last call.

        Raises `LogBroken` when sequences are missing or the stream is another one, `Unavailable` when a connected server
        does not answer.
        """
        batch, self._held = self._held, []
        if batch:
            self._more.set()
        elif self._problem is not None:
            raise self._problem
        return batch

    async def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for a batch, a problem or `notify`; False after `timeout_s`."""
        if self._keeper is None:
            self._keeper = asyncio.get_running_loop().create_task(self._keep())
        return await self._waiters.wait(timeout_s)

    def notify(self) -> None:
        """End every pending wait."""
        self._waiters.notify()

    async def aclose(self) -> None:
        """Stop reading."""
        if self.closed:
            return
        self.closed = True
        self._link.unlisten(self._more.set)
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait({self._keeper})
        self.notify()

    def hint(self, payload: bytes) -> None:
        """Somebody says how long the log is."""
        if payload.isdigit() and len(payload) <= MAX_HINT_DIGITS and int(payload) > self._cursor:
            self._more.set()

    async def _keep(self) -> None:
        """In the background: read on at every hint, and every `POLL_S` without one."""
        failures = 0
        try:
            while True:
                await self._link.connected.wait()
                try:
                    await self._read()
                    failures = 0
                except (Unavailable, NoResponder) as error:
                    failures += 1
                    if failures >= MAX_FAILURES:
                        raise Unavailable(f"the server gives no messages: {error}") from error
                    _log.warning("no messages yet", error=str(error))
                    await asyncio.sleep(PAUSE_S)
                await self._until_more()
        except Exception as error:
            self._problem = error
            self.notify()

    async def _read(self) -> None:
        """Ask for one batch, after a look at the log if the connection is a new one."""
        if len(self._held) > MAX_HELD:
            return
        self._more.clear()
        if self._epoch != self._link.epoch:
            epoch = self._link.epoch
            await self._check.before_reading(self._cursor, self._last)
            self._epoch = epoch
        got = await self._direct.batch(self._cursor, BATCH)
        if got.messages:
            self._last = got.messages[-1]
            self._cursor = self._last.seq
            self._held += got.messages
            if got.pending:
                self._more.set()
            self.notify()

    async def _until_more(self) -> None:
        if len(self._held) > MAX_HELD:
            self._more.clear()  # until something is taken
        timer = asyncio.get_running_loop().call_later(POLL_S, self._more.set)
        try:
            await self._more.wait()
        finally:
            timer.cancel()
