"""nats-py's client with a shorter way for what comes often: answers to appends, and deliveries of the log.

nats-py gives each message a parsed header dict, a `Msg`, a place in a queue and a turn of its subscription's task (measured for
an event of 1.4 KB: 16 µs and a turn of the loop; here 4 µs), and asyncio reads the socket into a buffer of 256 KiB, which the
allocator maps anew each time (53 µs; with 64 KiB 12 µs). Connecting, reconnecting and everything else stays nats-py's.
"""

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import ParseResult

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.transport import TcpTransport

READ_BYTES: Final = 64 * 1024
NO_LIMIT: Final = 0
STATUS_LINE: Final = b"NATS/1.0 "
STATUS_CHARS: Final = 3

Direct = Callable[[bytes, bytes, bytes, bytes], None]
"""Gets subject, reply subject, payload and raw header block (empty if none) of each message; must not raise."""

Prove = Callable[[str], tuple[str, bytes]]
"""Gets the server's nonce; the user's public key and the signed nonce in base64."""


class _LeanTransport(TcpTransport):
    """A connection read in pieces that the allocator does not have to map."""

    async def connect(self, uri: ParseResult, buffer_size: int, connect_timeout: int) -> None:
        if self._io_writer is not None:
            self._io_writer.close()  # nats-py leaves open one whose greeting never came
        await super().connect(uri, buffer_size, connect_timeout)
        transport: Any = self._io_writer.transport if self._io_writer else None
        if hasattr(transport, "max_size"):  # asyncio's own; other event loops have none
            transport.max_size = READ_BYTES


class LeanClient(Client):
    """A client that hands the messages of some subscriptions straight to a function."""

    def __init__(self) -> None:
        """Not connected yet."""
        super().__init__()
        self._transport = _LeanTransport()  # type: ignore[no-untyped-call]
        self._direct: dict[int, Direct] = {}
        self.prove: Prove | None = None
        """How to answer the server's nonce; it is asked at every connection, so that a key can be exchanged in between."""

    def _connect_command(self) -> bytes:
        if self.prove is not None and "nonce" in self._server_info:
            self._public_nkey, proof = self.prove(self._server_info["nonce"])
            self._signature_cb = lambda _nonce: proof
        return super()._connect_command()

    async def subscribe_direct(self, subject: str, direct: Direct) -> int:
        """Call `direct` for every message on `subject`, from the task that reads the socket; returns the subscription's id."""
        subscription = await self.subscribe(subject, cb=_nothing, pending_msgs_limit=NO_LIMIT, pending_bytes_limit=NO_LIMIT)
        sid = subscription._id
        self._direct[sid] = direct
        return sid

    async def unsubscribe_direct(self, sid: int) -> None:
        """End it; `direct` is not called any more, whatever is still on its way."""
        self._direct.pop(sid, None)
        subscription = self._subs.get(sid)
        if subscription is not None:
            await subscription.unsubscribe()

    def drop_unsent(self) -> None:
        """Forget what was published and not yet written to the socket; else it would be sent to the next server."""
        self._pending.clear()
        self._pending_data_size = 0

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes) -> None:
        direct = self._direct.get(sid)
        if direct is None:
            await super()._process_msg(sid, subject, reply, data, headers)
        else:
            direct(subject, reply, data, headers or b"")


async def _nothing(_message: Msg) -> None:
    """What comes between `subscribe` and its entry in `_direct`: nothing, the server does not know it yet."""


def status(headers: bytes) -> bytes:
    """The three digits of a server's status line, empty for a message."""
    start = len(STATUS_LINE)
    return headers[start : start + STATUS_CHARS] if headers.startswith(STATUS_LINE) else b""


def header(headers: bytes, name: bytes, *, last: bool = False) -> bytes:
    """The value of a header in a raw block, empty if it is not there; `name` as its writer spelt it.

    `last`: of several the last one, which is the server's own: it adds its headers behind those with which a message was stored.
    """
    line = b"\r\n%b:" % name
    start = headers.rfind(line) if last else headers.find(line)
    if start < 0:
        return b""
    start += len(line)
    return headers[start : headers.find(b"\r\n", start)].strip()
