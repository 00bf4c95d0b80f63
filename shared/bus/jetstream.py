"""The `Log` and `Rpc` ports over NATS JetStream."""

import contextlib
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import msgspec
from nats import errors

from shared.bus import server_checks, stream
from shared.bus.js_api import MSG_ID, WRONG_LAST_SEQUENCE, ApiError, Lookup, PubAck, leader, log_info, stream_info
from shared.bus.link import CONNECT_WAIT_S, Link, User
from shared.bus.log_check import LogCheck
from shared.bus.ports import (
    Append,
    BusError,
    Conflict,
    IdReused,
    LogBroken,
    LogInfo,
    Stored,
    Unavailable,
)
from shared.bus.reader import Reader
from shared.bus.rights import HINT
from shared.bus.rpc import NatsRpc
from shared.protocol.ids import STREAM

APPEND_WATCHDOG_S: Final = 60.0
APPEND_TIMEOUT_S: Final = 5.0
EXPECTED_STREAM: Final = "Nats-Expected-Stream"
EXPECTED_LAST: Final = "Nats-Expected-Last-Sequence"
EXPECTED_FENCE_SEQ: Final = "Nats-Expected-Last-Subject-Sequence"
EXPECTED_FENCE: Final = "Nats-Expected-Last-Subject-Sequence-Subject"

_NAMED: Final = re.compile(r"wrong last sequence: (\d+)", re.ASCII)
_PUB_ACK: Final = msgspec.json.Decoder(PubAck)


class JetStreamLog:
    """The log as the stream `EV` of a NATS server."""

    def __init__(
        self, link: Link, *, watchdog_s: float = APPEND_WATCHDOG_S, lookup: Lookup | None = None, hints: bool = True
    ) -> None:
        """Work over `link`; an append that is not answered is repeated for `watchdog_s`.

        `lookup` finds single messages, by default at the stream's leader. With `hints` others are told how long the log is.
        """
        self._link = link
        self._watchdog_s = watchdog_s
        self._lookup = lookup or leader(link)
        self._hints = hints
        self.check = LogCheck(link, self._lookup)

    async def append(self, message: Append) -> int:
        """Store `message`; see `Log.append`. It may be repeated, because its id and its expectations let it in only once."""
        try:
            answer = await self._link.insist(
                message.subject,
                message.payload,
                timeout_s=APPEND_TIMEOUT_S,
                watchdog_s=self._watchdog_s,
                headers=_headers(message),
                before=self.check.before_append,
            )
        except Unavailable as error:
            raise Unavailable(f"{message.msg_id} was not acknowledged: {error}") from error
        seq = await self._settle(message, _PUB_ACK.decode(answer))
        self.check.saw(seq)
        await self._hint(seq)
        return seq

    async def _hint(self, seq: int) -> None:
        """Tell those who read without a consumer; who does not hear it looks again soon anyway."""
        if self._hints:
            with contextlib.suppress(errors.Error):
                await self._link.client.publish(HINT, b"%d" % seq)

    async def _settle(self, message: Append, ack: PubAck) -> int:
        """The sequence of an acknowledged append, also of one whose first acknowledgement was lost."""
        if ack.error is not None:
            return await self._refused(message, ack.error)
        if ack.duplicate:
            stored = await self.get(ack.seq)
            if stored is None or stored.payload != message.payload:
                raise IdReused(f"{message.msg_id} is stored at sequence {ack.seq} with another content")
        return ack.seq

    async def _refused(self, message: Append, error: ApiError) -> int:
        """A repeated append is refused too (its own first copy moved the fence), so look who stands under the fence."""
        if error.err_code != WRONG_LAST_SEQUENCE:
            raise BusError(f"the log refuses {message.msg_id}: {error.description} ({error.err_code})")
        last = await self.last_under(message.fence)
        if last is not None and (last.msg_id, last.payload) == (message.stored_id, message.payload):
            return last.seq
        named = _NAMED.search(error.description)
        raise Conflict(int(named[1]) if named else await self.last_seq(), f"{message.msg_id}: {error.description}")

    def watched_by(self, look: Callable[[], Awaitable[None]]) -> None:
        """Await `look` too before each append; what it raises ends the append, but `Unavailable`, after which it is repeated."""
        self.check.look = look

    def read(self, after: int) -> Reader:
        """Batches from `after` + 1 on; see `Log.read`."""
        return Reader(self._link, self.check, after)

    async def last_seq(self) -> int:
        """The last sequence, from the leader."""
        return (await self.info()).last_seq

    async def get(self, seq: int) -> Stored | None:
        """The message at `seq`, from the leader."""
        return await self._lookup({"seq": seq})

    async def last_under(self, filter_subject: str) -> Stored | None:
        """The last message under a subject filter, from the leader."""
        return await self._lookup({"last_by_subj": filter_subject})

    async def info(self) -> LogInfo:
        """The state of the stream; raises `LogBroken` if there is none."""
        info = await stream_info(self._link)
        if info is None:
            raise LogBroken(f"there is no stream {STREAM}: it was never made, or it was removed")
        return log_info(info)


def _headers(message: Append) -> dict[str, str]:
    headers = {
        EXPECTED_STREAM: STREAM,
        EXPECTED_FENCE_SEQ: str(message.fence_seq),
        EXPECTED_FENCE: message.fence,
    }
    if message.by_id:
        headers[MSG_ID] = message.msg_id
    if message.last_seq is not None:
        headers[EXPECTED_LAST] = str(message.last_seq)
    return headers


@dataclass(frozen=True, slots=True)
class Connection:
    """Log and request/reply over one connection."""

    link: Link
    log: JetStreamLog
    rpc: NatsRpc

    async def alive(self, timeout_s: float) -> bool:
        """Whether a message comes back through the server within `timeout_s`."""
        return await self.link.echo(timeout_s)

    async def close(self) -> None:
        """End the connection."""
        await self.link.close()


async def connect(
    url: str, role: str, *, user: User | None = None, wait_s: float = CONNECT_WAIT_S, watchdog_s: float = APPEND_WATCHDOG_S
) -> Connection:
    """Connect to `url` as `role` (which names the inbox `_INBOX_<role>`), waiting up to `wait_s` for a starting server.

    `user` proves who it is. Raises `Unavailable` without a server, `Refused` for one of an untested version.
    """
    link = await Link.open(url, role, wait_s, user)
    try:
        server_checks.check_version(link)
    except BusError:
        await link.close()
        raise
    return Connection(link, JetStreamLog(link, watchdog_s=watchdog_s), NatsRpc(link))


async def check_server(connection: Connection, monitor_url: str) -> None:
    """Raise `Refused` unless the server has a tested version and flushes every write before it acknowledges it."""
    server_checks.check_version(connection.link)
    await server_checks.check_flushing(connection.link, monitor_url)


async def ensure_stream(connection: Connection) -> None:
    """Make the stream if there is none; raises `Refused` if the existing one is configured otherwise. Desk only."""
    await stream.ensure_stream(connection.link)
