"""The `Log` and `Rpc` ports in memory, with JetStream's semantics, for tests and backtests."""

import asyncio
from typing import Final

from shared.bus.answers import answer
from shared.bus.ports import Append, Conflict, Handler, IdReused, LogInfo, NoResponder, Stored, Unavailable
from shared.bus.waiting import BatchReading, Waiters

READ_BATCH: Final = 1000


def under(filter_subject: str, subject: str) -> bool:
    """Whether `subject` stands under a filter that ends in `.>` (or is the subject itself)."""
    if filter_subject.endswith(".>"):
        return subject.startswith(filter_subject[:-1])
    return subject == filter_subject


class MemoryReader(BatchReading):
    """A cursor in a `MemoryLog`."""

    def __init__(self, log: "MemoryLog", after: int) -> None:
        """Read from `after` + 1 on."""
        super().__init__()
        self._log, self._cursor = log, after
        self._waiters = Waiters()
        log.readers.append(self)

    def take(self) -> list[Stored]:
        """Everything behind the cursor, at most `READ_BATCH` messages."""
        batch = self._log.stored[self._cursor : self._cursor + READ_BATCH]
        self._cursor += len(batch)
        return batch

    async def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for an append or `notify`; False after `timeout_s`."""
        return await self._waiters.wait(timeout_s)

    def notify(self) -> None:
        """End every pending wait."""
        self._waiters.notify()

    async def aclose(self) -> None:
        """End it, and a wait for the next batch too."""
        self.closed = True
        if self in self._log.readers:
            self._log.readers.remove(self)
        self.notify()


class MemoryLog:
    """An append-only log in this process; any number of participants share one object. Sequence s is `stored[s - 1]`."""

    def __init__(self) -> None:
        """Begin empty."""
        self.stored: list[Stored] = []
        self._ids: dict[str, int] = {}
        self._last: dict[str, int] = {}
        self.readers: list[MemoryReader] = []

    async def append(self, message: Append) -> int:
        """Store `message`; see `Log.append`. Yields once, so that concurrent writers take turns as over a network."""
        await asyncio.sleep(0)
        fence_seq = self._last_seq_under(message.fence)
        for expected, found in ((message.fence_seq, fence_seq), (message.last_seq, len(self.stored))):
            if expected is not None and expected != found:
                return self._refused(message, found)
        known = self._ids.get(message.msg_id) if message.by_id else None
        if known is not None:
            if self.stored[known - 1].payload != message.payload:
                raise IdReused(f"{message.msg_id} is stored at sequence {known} with another content")
            return known
        return self._store(message)

    def _refused(self, message: Append, found: int) -> int:
        """As the server and our client do: the own message under the fence is success, else a conflict."""
        seq = self._last_seq_under(message.fence)
        if seq and (self.stored[seq - 1].msg_id, self.stored[seq - 1].payload) == (message.stored_id, message.payload):
            return seq
        raise Conflict(found, f"{message.msg_id}: wrong last sequence: {found}")

    def _store(self, message: Append) -> int:
        seq = len(self.stored) + 1
        self.stored.append(Stored(seq, message.subject, message.stored_id, message.payload))
        if message.by_id:
            self._ids[message.msg_id] = seq
        self._last[message.subject] = seq
        self.wake()
        return seq

    def truncate(self, last_seq: int) -> None:
        """Lose everything behind `last_seq`, as a server does whose newest file is damaged; for tests."""
        del self.stored[last_seq:]
        self._ids = {stored.msg_id: stored.seq for stored in self.stored}
        self._last = {stored.subject: stored.seq for stored in self.stored}

    def _last_seq_under(self, filter_subject: str) -> int:
        return max((seq for subject, seq in self._last.items() if under(filter_subject, subject)), default=0)

    def read(self, after: int) -> MemoryReader:
        """Batches from `after` + 1 on, then live."""
        return MemoryReader(self, after)

    def wake(self) -> None:
        """Let every reader look again."""
        for reader in self.readers:
            reader.notify()

    async def last_seq(self) -> int:
        """The last sequence."""
        return len(self.stored)

    async def get(self, seq: int) -> Stored | None:
        """The message at `seq`."""
        return self.stored[seq - 1] if 0 < seq <= len(self.stored) else None

    async def last_under(self, filter_subject: str) -> Stored | None:
        """The last message under a subject filter."""
        return await self.get(self._last_seq_under(filter_subject))

    async def info(self) -> LogInfo:
        """The state of the log."""
        return LogInfo(1 if self.stored else 0, len(self.stored), 0, "memory")


class MemoryRpc:
    """Request and reply in this process."""

    def __init__(self) -> None:
        """Begin without any handler."""
        self._handlers: dict[str, Handler] = {}

    async def request(self, subject: str, payload: bytes, timeout_s: float) -> bytes:
        """Ask and wait for the answer; raises `NoResponder` or `Unavailable`."""
        handler = self._handlers.get(subject)
        if handler is None:
            raise NoResponder(f"nobody answers on {subject}")
        try:
            async with asyncio.timeout(timeout_s):
                return await answer(handler, payload, subject)
        except TimeoutError as error:
            raise Unavailable(f"no answer on {subject} within {timeout_s:g} s") from error

    async def serve(self, subject: str, handler: Handler) -> None:
        """Answer requests on `subject`; a second handler of one subject takes the first one's place."""
        self._handlers[subject] = handler
