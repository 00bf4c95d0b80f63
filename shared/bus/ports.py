"""The two ports of the bus, `Log` and `Rpc`, and what can go wrong at them."""

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec


class BusError(Exception):
    """Base of everything that the bus raises."""


class Conflict(BusError):
    """The log is not in the state that an append expected; `last_seq` is the sequence that the refusal names."""

    def __init__(self, last_seq: int, message: str) -> None:
        """Keep the sequence up to which to fold before deciding again."""
        super().__init__(message)
        self.last_seq = last_seq


class Fenced(BusError):
    """Another process writes under the own prefix: this one must end."""


class LogBroken(BusError):
    """The log has a hole, lost its tail or was replaced; nothing may be appended."""


class Refused(BusError):
    """A server that must not be used (lazy flushing, wrong version, changed stream), with what to do."""


class Unavailable(BusError):
    """No answer within the bound, after all retries."""


class NoResponder(BusError):
    """Nobody answers this request subject at present."""


class IdReused(BusError):
    """Something else is stored under this event's id: another fact (a bug), or another author's message."""


class Stopping(BusError):
    """This process is ending and appends nothing more."""


class Stored(msgspec.Struct, frozen=True, gc=False):
    """One message of the log as it is stored. (`gc`: it can be in no cycle, and thousands are held at once.)"""

    seq: int
    subject: str
    msg_id: str
    payload: bytes


class Append(msgspec.Struct, frozen=True):
    """One message to append, and what it expects.

    `fence` is the filter of its writer's subjects and `fence_seq` the sequence of the last message under it (0: none);
    `last_seq`, if given, must be the last sequence of the whole log. Without `by_id` it is stored without its id, so that
    the server does not take it for another one that has it; only the fence keeps repeats out then.
    """

    subject: str
    msg_id: str
    payload: bytes
    fence: str
    fence_seq: int
    last_seq: int | None = None
    by_id: bool = True

    @property
    def stored_id(self) -> str:
        """The id with which it stands in the log."""
        return self.msg_id if self.by_id else ""


class LogInfo(msgspec.Struct, frozen=True):
    """What the server says of the log; `created` identifies this very stream, `holes` names the sequences deleted if it knows."""

    first_seq: int
    last_seq: int
    deleted: int
    created: str
    holes: str = ""


class Reading(Protocol):
    """A cursor in the log that moves on as messages are taken, without end.

    An `async for` over it gives batches, each of at least one message; cancelling its wait loses nothing.
    """

    def take(self) -> list[Stored]:
        """What has arrived since the last call, in order, maybe nothing; bounded, so take again until it is empty.

        Raises what broke the reading, after everything before it was taken.
        """
        ...

    async def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for more to `take`, or for `notify`; False after `timeout_s`. Only after a `take` that gave nothing."""
        ...

    def notify(self) -> None:
        """End every pending `wait`."""
        ...

    def __aiter__(self) -> "Reading":
        """Itself."""
        ...

    async def __anext__(self) -> list[Stored]:
        """Take, waiting for at least one message."""
        ...

    async def aclose(self) -> None:
        """End it and free what it holds; ends a wait for the next batch too."""
        ...


class Log(Protocol):
    """An append-only log with optimistic concurrency."""

    async def append(self, message: Append) -> int:
        """Store `message` durably and return its sequence.

        Retries an unanswered append with the same id under a watchdog. Returns the old sequence if this very message
        (id and payload) is stored already. Raises `Conflict` if an expectation fails, `IdReused` if the id is stored with
        another payload, `Unavailable` if the watchdog ends.
        """
        ...

    def read(self, after: int) -> Reading:
        """Batches of stored messages from `after` + 1 on, in order, then live, without end.

        Taking a batch asks for more; not taking any stops the flow. Raises `LogBroken` on a gap. Close it with `aclose()`.
        """
        ...

    async def last_seq(self) -> int:
        """The last sequence of the log, from its leader."""
        ...

    async def get(self, seq: int) -> Stored | None:
        """The message at `seq`, from the leader."""
        ...

    async def last_under(self, filter_subject: str) -> Stored | None:
        """The last message under a subject filter, from the leader."""
        ...

    async def info(self) -> LogInfo:
        """The state of the stream."""
        ...


class WatchedLog(Log, Protocol):
    """A log whose writers can be made to look at it before each append."""

    def watched_by(self, look: Callable[[], Awaitable[None]]) -> None:
        """Await `look` too before each append; what it raises ends the append, but `Unavailable`, after which it is repeated."""
        ...


Handler = Callable[[bytes], Awaitable[bytes]]


class Rpc(Protocol):
    """Request and reply, at most once."""

    async def request(self, subject: str, payload: bytes, timeout_s: float) -> bytes:
        """Ask and wait for the answer; raises `NoResponder` or `Unavailable`."""
        ...

    async def serve(self, subject: str, handler: Handler) -> None:
        """Answer requests on `subject` until the connection closes; a handler that raises answers with an error document."""
        ...
