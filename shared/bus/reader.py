"""Reading the log: an own cursor, raw pulls on an ephemeral consumer, contiguity checked per message.

nats-py's ordered consumer loses messages when slow, `fetch` costs a task per message and stalls (spec/bus.md, A4).
"""

import asyncio
from typing import Final

import structlog
from nats import errors

from shared.bus.consumer import BATCH, HEARTBEAT_S, Consumer
from shared.bus.js_api import ApiFailure, message_id
from shared.bus.lean_client import header, status
from shared.bus.link import Link
from shared.bus.log_check import LogCheck
from shared.bus.ports import LogBroken, Refused, Stored, Unavailable
from shared.bus.waiting import BatchReading, Waiters

LOW_WATER: Final = BATCH + BATCH // 2
SILENCE_S: Final = 2.5 * HEARTBEAT_S
MAX_FAILURES: Final = 100
REBUILD_PAUSE_S: Final = 0.1
ACK_PREFIX: Final = b"$JS.ACK."
ACK_TOKENS: Final = 9
"""`$JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<time>.<pending>`"""
SEQ_TOKEN: Final = 5
PENDING_OF_PULL: Final = b"Nats-Pending-Messages"
HEARTBEAT: Final = b"100"
PULL_EXPIRED: Final = b"408"

_log = structlog.get_logger("bus")


class Reader(BatchReading):
    """Batches of messages from a cursor on.

    At most 2.5 `BATCH` messages are asked for or held untaken; not taking any stops the flow.
    """

    def __init__(self, link: Link, check: LogCheck, after: int) -> None:
        """Read from `after` + 1 on; nothing happens before the first wait."""
        super().__init__()
        self._link = link
        self._check = check
        self._next = after + 1
        self._last: Stored | None = None
        self._held: list[Stored] = []
        self._asked = 0
        self._gap_at = 0
        self._stale = True
        self._disturbances = 0
        self._failures = 0
        self._heard = True
        self._problem: Exception | None = None
        self._waiters = Waiters()
        self._work = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._consumer: Consumer | None = None
        link.listen(self._disturbed)

    def take(self) -> list[Stored]:
        """Everything that arrived since the last call.

        Raises `LogBroken` when sequences are missing or the stream is another one, `Unavailable` when a connected server
        gives no consumer.
        """
        batch = self._held
        if batch:
            self._held = []
            if self._asked <= LOW_WATER:
                self._work.set()
        elif self._problem is not None:
            raise self._problem
        return batch

    async def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for a delivery, a problem or `notify`; False after `timeout_s`."""
        if self._keeper is None:
            self._keeper = asyncio.get_running_loop().create_task(self._keep())
        return await self._waiters.wait(timeout_s)

    def notify(self) -> None:
        """End every pending wait."""
        self._waiters.notify()

    async def aclose(self) -> None:
        """Stop reading and let the server forget the consumer."""
        if self.closed:
            return
        self.closed = True
        self._link.unlisten(self._disturbed)
        if self._watch is not None:
            self._watch.cancel()
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait({self._keeper})
        self.notify()
        await self._discard()

    def _received(self, subject: bytes, reply: bytes, payload: bytes, headers: bytes) -> None:
        """One delivery, in the order of the connection; the hot path of every process."""
        if self._stale:
            return
        self._heard = True
        if not reply.startswith(ACK_PREFIX):
            self._status(headers)
            return
        tokens = reply.split(b".")
        if len(tokens) != ACK_TOKENS:
            self._fail(Refused(f"reply subject {reply!r} is not of version 1: set `js_ack_fc_v2: false` on the server"))
            return
        seq = int(tokens[SEQ_TOKEN])
        self._asked -= 1
        if seq != self._next:
            self._out_of_order(seq)
            return
        stored = Stored(seq, subject.decode("utf-8", "replace"), message_id(headers), payload)
        self._next, self._last, self._gap_at = seq + 1, stored, 0
        self._held.append(stored)
        self._waiters.notify()

    def _out_of_order(self, seq: int) -> None:
        """A repeat is dropped; a gap is read again once, and if it is still there it is in the log itself."""
        if seq < self._next:
            return
        if self._gap_at == self._next:
            self._fail(LogBroken(f"sequences {self._next} to {seq - 1} are missing from the log"))
            return
        _log.warning("gap in a delivery, reading again", expected=self._next, found=seq)
        self._gap_at = self._next
        self._disturbed()

    def _status(self, headers: bytes) -> None:
        """What the server says instead of a message: a heartbeat, the end of a pull, or that the consumer is gone."""
        said = status(headers)
        if said == HEARTBEAT:
            return
        if said == PULL_EXPIRED:
            self._asked -= int(header(headers, PENDING_OF_PULL) or BATCH)
            self._work.set()
            return
        self._disturbed()

    def _fail(self, problem: Exception) -> None:
        """The end of this reading: whoever takes gets `problem` after everything before it."""
        self._problem = problem
        self._stale = True
        self._work.set()
        self.notify()

    def _disturbed(self) -> None:
        """Whatever happened, a new consumer behind the last message received puts it right."""
        self._stale = True
        self._disturbances += 1
        self._work.set()

    async def _keep(self) -> None:
        """In the background: a consumer, and about two batches asked of it; a satisfied pull sends no word."""
        try:
            while self._problem is None:
                self._work.clear()
                if self._stale:
                    await self._rebuild()
                while not self._stale and self._consumer is not None and self._asked + len(self._held) <= LOW_WATER:
                    await self._ask(self._consumer)
                await self._work.wait()
        except Exception as error:
            self._fail(error)

    async def _ask(self, consumer: Consumer) -> None:
        self._asked += BATCH
        try:
            await consumer.pull()
        except errors.Error:
            self._disturbed()

    async def _rebuild(self) -> None:
        """Make a new consumer; waits for the connection without end, for the server to give one as long as `js_api` does."""
        while self._stale:
            await self._link.connected.wait()
            try:
                await self._make_consumer()
            except (ApiFailure, errors.Error) as error:
                self._failures += 1
                if self._failures >= MAX_FAILURES:
                    raise Unavailable(f"the server gives no consumer: {error}") from error
                _log.warning("no consumer yet", error=str(error))
                await asyncio.sleep(REBUILD_PAUSE_S)
        self._failures = 0

    async def _make_consumer(self) -> None:
        """Check the log, then read on behind the last message received; stays stale if disturbed meanwhile."""
        disturbances = self._disturbances
        await self._discard()
        await self._check.before_reading(self._next - 1, self._last)
        self._consumer = await Consumer.make(self._link, self._next, self._received)
        self._asked = 0
        self._stale = disturbances != self._disturbances
        self._look_later()

    async def _discard(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            await consumer.discard()

    def _look_later(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        self._heard = False
        self._watch = asyncio.get_running_loop().call_later(SILENCE_S, self._look)

    def _look(self) -> None:
        """Neither a message nor a heartbeat while something was asked for: the consumer is gone without a word."""
        if self._asked > 0 and not self._heard and not self._stale and self._link.connected.is_set():
            _log.warning("the consumer is silent, making a new one")
            self._disturbed()
        self._look_later()
