"""One connection to a NATS server: endless reconnect, one inbox for all answers, and word of every change of the connection.

nats-py's own `request` and `flush` are not used: `request` waits until its timeout for an answer that a broken connection
took with it, and after a `flush` that timed out the late pong ends nats-py's read loop (2.16.0).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import urlsplit

import structlog
from nats import errors

from shared.bus.keys import Key
from shared.bus.lean_client import LeanClient, status
from shared.bus.ports import NoResponder, Unavailable
from shared.bus.rights import API, FOREIGN_API, PROVISIONER, inbox_of

CONNECT_WAIT_S: Final = 10.0
PROBE_PAUSE_S: Final = 0.02
PROBE_TIMEOUT_S: Final = 1.0
RECONNECT_PAUSE_S: Final = 0.2
RETRY_PAUSE_S: Final = 0.1
PING_INTERVAL_S: Final = 5
NO_RESPONDERS: Final = b"503"

Answer = bytes | None
"""A payload, or None: the server says that nobody listens."""

_log = structlog.get_logger("bus")


class User:
    """Who connects: an author, a source (with its book) or the provisioner, and the key that proves it."""

    def __init__(self, key: Key, author: str, book: str = "") -> None:
        """`key` may be exchanged later: the next connection uses the new one."""
        self.key, self.author = key, author
        self.inbox = inbox_of(author, book)
        self.api = API if author == PROVISIONER else FOREIGN_API


class Link:
    """A connected client, the questions it has open, and those who want to hear of a lost or regained connection.

    `api` is the prefix of the stream's API. Without a `user` the server must let everybody do everything (tests).
    """

    def __init__(self, role: str, user: User | None = None) -> None:
        """Use `Link.open`."""
        self.role, self.user = role, user
        self.api = user.api if user else API
        self.client = LeanClient()
        self.connected = asyncio.Event()
        self.epoch = 0
        """Changes whenever the connection was lost or came back; it may be another server that answers then."""
        self._began = False
        self._said: Exception | None = None
        self._inbox = ""
        self._asked = 0
        self._open: dict[bytes, asyncio.Future[Answer]] = {}
        self._listeners: set[Callable[[], None]] = set()

    @classmethod
    async def open(cls, url: str, role: str, wait_s: float = CONNECT_WAIT_S, user: User | None = None) -> "Link":
        """Connect to `url`, waiting up to `wait_s` for a server that is just starting; raises `Unavailable`."""
        link = cls(role, user)
        try:
            async with asyncio.timeout(wait_s):
                await _until_listening(url)
                await link._connect(url)
        except (TimeoutError, OSError, errors.Error) as error:
            await link.close()
            why = _named(link._said or error)
            raise Unavailable(f"no NATS server lets this process in at {url} within {wait_s:g} s: {why}") from error
        return link

    async def _connect(self, url: str) -> None:
        """Connect as `spec/bus.md` C2 says, and listen for answers."""
        self._began = True
        if self.user is not None:
            self.client.prove = self._prove
        await self.client.connect(
            url,
            name=self.role,
            pending_size=-1,  # else what is published while disconnected is stored long after its timeout
            max_reconnect_attempts=-1,
            reconnect_time_wait=RECONNECT_PAUSE_S,  # type: ignore[arg-type]  # annotated int, used as seconds
            ping_interval=PING_INTERVAL_S,
            inbox_prefix=self.user.inbox if self.user else inbox_of(self.role),
            error_cb=self._on_error,
            disconnected_cb=self._on_lost,
            reconnected_cb=self._on_regained,
            closed_cb=self._on_lost,
        )
        self._inbox = self.client.new_inbox()
        await self.client.subscribe_direct(f"{self._inbox}.*", self._answered)
        self.connected.set()

    def _prove(self, nonce: str) -> tuple[str, bytes]:
        """The public key of the user and the server's nonce signed with it, at every connection anew."""
        assert self.user is not None
        return self.user.key.public, self.user.key.answer(nonce)

    async def ask(self, subject: str, payload: bytes, timeout_s: float, headers: dict[str, str] | None = None) -> bytes:
        """Publish `payload` and wait for its answer; without a `subject` it is sent to the own inbox and is its answer itself.

        Raises `NoResponder`, or `Unavailable` without an answer in time, without a connection or when it breaks meanwhile.
        """
        self._asked += 1
        token = b"%d" % self._asked
        address = f"{self._inbox}.{self._asked}"
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()
        self._open[token] = answer
        timer = loop.call_later(timeout_s, _fail, answer, f"no answer on {subject} within {timeout_s:g} s")
        try:
            await self.client.publish(subject or address, payload, reply=address, headers=headers)
            found = await answer
        except errors.Error as error:
            raise Unavailable(f"cannot publish on {subject}: {_named(error)}") from error
        finally:
            timer.cancel()
            del self._open[token]
        if found is None:
            raise NoResponder(f"nobody answers on {subject}")
        return found

    async def insist(
        self,
        subject: str,
        payload: bytes,
        *,
        timeout_s: float,
        watchdog_s: float,
        headers: dict[str, str] | None = None,
        before: Callable[[], Awaitable[None]] | None = None,
    ) -> bytes:
        """Ask again and again, `timeout_s` each, until there is an answer: for what may be received twice.

        `before` runs before each attempt. Raises `Unavailable` when there is none for `watchdog_s`.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + watchdog_s
        while True:
            try:
                if before is not None:
                    await before()
                return await self.ask(subject, payload, timeout_s, headers)
            except (Unavailable, NoResponder) as error:
                if loop.time() > deadline:
                    raise Unavailable(f"{error}, for {watchdog_s:g} s") from error
                _log.warning("not answered, asking again", subject=subject, error=str(error))
                await self._pause(deadline - loop.time())

    async def _pause(self, longest_s: float) -> None:
        """Wait for the connection to come back, and a little in any case."""
        await asyncio.sleep(RETRY_PAUSE_S)
        try:
            async with asyncio.timeout(longest_s):
                await self.connected.wait()
        except TimeoutError:
            return

    async def tell(self, subject: str, payload: bytes = b"") -> None:
        """Publish a request whose answer is not waited for; JetStream's API ignores one that wants none."""
        await self.client.publish(subject, payload, reply=f"{self._inbox}.unread")

    async def echo(self, timeout_s: float) -> bool:
        """Whether a message comes back through the server in time; also sees a read loop that died without a word."""
        try:
            await self.ask("", b"", timeout_s)
        except (Unavailable, NoResponder):
            return False
        return True

    def _answered(self, subject: bytes, _reply: bytes, payload: bytes, headers: bytes) -> None:
        """Give an answer to whoever waits for it; one that comes too late is dropped."""
        answer = self._open.get(subject.rpartition(b".")[2])
        if answer is not None and not answer.done():
            answer.set_result(None if status(headers) == NO_RESPONDERS else payload)

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each loss and each return of the connection."""
        self._listeners.add(listener)

    def unlisten(self, listener: Callable[[], None]) -> None:
        """Stop calling it."""
        self._listeners.discard(listener)

    async def _on_lost(self) -> None:
        """The answers of open questions will never come: end them now, so that they are asked again early."""
        self.epoch += 1
        self.connected.clear()
        self.client.drop_unsent()
        for answer in list(self._open.values()):
            _fail(answer, "the connection to the server broke")
        self._tell()

    async def _on_regained(self) -> None:
        _log.info("connection to the server is back")
        self.epoch += 1
        self.connected.set()
        self._tell()

    async def _on_error(self, error: Exception) -> None:
        """nats-py stops reconnecting when a callback raises, so this one only notes; of failing attempts there are many."""
        self._said = error
        note = _log.warning if self.connected.is_set() else _log.debug
        note("nats client", error=_named(error))

    def _tell(self) -> None:
        for listener in tuple(self._listeners):
            listener()

    async def close(self) -> None:
        """End the connection; open questions fail."""
        if self._began and not self.client.is_closed:
            await self.client.close()
        await self._on_lost()


async def _until_listening(url: str) -> None:
    """Wait until a socket can be opened: nats-py itself would pause much longer between two attempts."""
    parts = urlsplit(url)
    host, port = parts.hostname or "127.0.0.1", parts.port or 4222
    while True:
        started = time.monotonic()
        try:
            async with asyncio.timeout(PROBE_TIMEOUT_S):
                _, writer = await asyncio.open_connection(host, port)
        except OSError:  # TimeoutError is one too
            await asyncio.sleep(max(0.0, PROBE_PAUSE_S - (time.monotonic() - started)))
            continue
        writer.close()
        return


def _named(error: Exception) -> str:
    """Its text, or its type where it has none (nats-py)."""
    return str(error) or type(error).__name__


def _fail(answer: asyncio.Future[Answer], why: str) -> None:
    if not answer.done():
        answer.set_exception(Unavailable(why))
