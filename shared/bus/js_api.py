"""The part of the JetStream API that we use, as typed requests over a `Link`."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

import msgspec

from shared.bus.lean_client import header
from shared.bus.link import Link
from shared.bus.ports import BusError, LogInfo, Stored
from shared.protocol.ids import STREAM

API_TIMEOUT_S: Final = 5.0
API_WATCHDOG_S: Final = 60.0
STREAM_NOT_FOUND: Final = 10059
NO_MESSAGE: Final = 10037
WRONG_LAST_SEQUENCE: Final = 10071
MSG_ID: Final = "Nats-Msg-Id"
_MSG_ID: Final = MSG_ID.encode()
MAX_RANGES: Final = 5
NS_PER_S: Final = 1_000_000_000


class ApiError(msgspec.Struct, frozen=True):
    """What the server refuses, and why."""

    code: int = 0
    err_code: int = 0
    description: str = ""


class PubAck(msgspec.Struct, frozen=True):
    """The answer to an append."""

    seq: int = 0
    duplicate: bool = False
    error: ApiError | None = None


class StreamState(msgspec.Struct, frozen=True):
    """How much a stream holds; `num_deleted` counts holes in it."""

    first_seq: int
    last_seq: int
    num_deleted: int = 0
    deleted: tuple[int, ...] | None = None


class StreamInfo(msgspec.Struct, frozen=True):
    """A stream's configuration and state; `config` as the server writes it."""

    created: str
    state: StreamState
    config: dict[str, Any]


class RawMessage(msgspec.Struct, frozen=True):
    """A message as `STREAM.MSG.GET` gives it (base64 decoded)."""

    subject: str
    seq: int
    hdrs: bytes = b""
    data: bytes = b""


class _Failure(msgspec.Struct, frozen=True):
    error: ApiError | None = None


class _Got(msgspec.Struct, frozen=True):
    message: RawMessage


T = TypeVar("T")
_FAILURE: Final = msgspec.json.Decoder(_Failure)


class ApiFailure(BusError):
    """The server answered with an error."""

    def __init__(self, subject: str, error: ApiError) -> None:
        """Keep the error's code."""
        super().__init__(f"{subject}: {error.description} ({error.err_code})")
        self.err_code = error.err_code


async def call(link: Link, name: str, request: object, answer: type[T], *, watchdog_s: float = API_WATCHDOG_S) -> T:
    """Ask the stream's API for `<name>`, again while a server is restarting.

    Raises `ApiFailure`, or `Unavailable` after `watchdog_s`. Only for requests that may be received twice.
    """
    subject = f"{link.api}.{name}"
    payload = b"" if request is None else msgspec.json.encode(request)
    found = await link.insist(subject, payload, timeout_s=API_TIMEOUT_S, watchdog_s=watchdog_s)
    failure = _FAILURE.decode(found).error
    if failure is not None:
        raise ApiFailure(subject, failure)
    return msgspec.json.decode(found, type=answer)


async def stream_info(link: Link, *, watchdog_s: float = API_WATCHDOG_S) -> StreamInfo | None:
    """Configuration and state of the stream, None if there is none; a stream with holes is asked where they are."""
    name = f"STREAM.INFO.{STREAM}"
    try:
        info = await call(link, name, None, StreamInfo, watchdog_s=watchdog_s)
        if info.state.num_deleted:
            info = await call(link, name, {"deleted_details": True}, StreamInfo, watchdog_s=watchdog_s)
    except ApiFailure as failure:
        if failure.err_code == STREAM_NOT_FOUND:
            return None
        raise
    return info


def log_info(info: StreamInfo) -> LogInfo:
    """The state of a stream as the port says it."""
    state = info.state
    return LogInfo(state.first_seq, state.last_seq, state.num_deleted, info.created, named(state.deleted or ()))


def named(sequences: Sequence[int]) -> str:
    """Ascending sequences as ranges, `3, 7 to 9`; at most `MAX_RANGES` of them."""
    ranges: list[list[int]] = []
    for seq in sequences:
        if ranges and seq == ranges[-1][1] + 1:
            ranges[-1][1] = seq
        else:
            ranges.append([seq, seq])
    said = [str(first) if first == last else f"{first} to {last}" for first, last in ranges[:MAX_RANGES]]
    return ", ".join(said) + (", …" if len(ranges) > MAX_RANGES else "")


async def get_message(link: Link, request: dict[str, object]) -> Stored | None:
    """One message from the stream's leader by `seq` or `last_by_subj`."""
    try:
        got = await call(link, f"STREAM.MSG.GET.{STREAM}", request, _Got)
    except ApiFailure as failure:
        if failure.err_code == NO_MESSAGE:
            return None
        raise
    raw = got.message
    return Stored(raw.seq, raw.subject, message_id(raw.hdrs), raw.data)


Lookup = Callable[[dict[str, object]], Awaitable[Stored | None]]
"""Finds one message by `seq` or `last_by_subj`; None if there is none."""


def leader(link: Link) -> Lookup:
    """Looks a message up at the stream's leader."""

    async def lookup(request: dict[str, object]) -> Stored | None:
        return await get_message(link, request)

    return lookup


def message_id(headers: bytes) -> str:
    """The value of `Nats-Msg-Id` in a raw header block, empty if it has none."""
    return header(headers, _MSG_ID).decode("utf-8", "replace")
