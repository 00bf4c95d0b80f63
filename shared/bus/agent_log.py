"""The log as the agent has it: one connection per source, each of which can write its own book's events alone."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from shared.bus import server_checks
from shared.bus.direct_get import DirectGet
from shared.bus.direct_reader import DirectReader
from shared.bus.jetstream import JetStreamLog
from shared.bus.keys import Key, source_name
from shared.bus.link import CONNECT_WAIT_S, Link, User
from shared.bus.ports import Append, BusError, LogInfo, Stored
from shared.bus.rights import AGENT, HINT
from shared.bus.rpc import NatsRpc
from shared.protocol.ids import parse_subject

MAX_SOURCES: Final = 20


class AgentLog:
    """Appends over the connection of the event's book; reads over the first one, by direct get."""

    def __init__(self, links: Mapping[str, Link]) -> None:
        """`links` by book, at least one."""
        self._logs = {book: JetStreamLog(link, lookup=DirectGet(link).one, hints=False) for book, link in links.items()}
        self._link = next(iter(links.values()))
        self._first = next(iter(self._logs.values()))
        self._direct = DirectGet(self._link)
        self._readers: list[DirectReader] = []

    async def listen(self) -> None:
        """Take hints from now on."""
        await self._link.client.subscribe_direct(HINT, self._hinted)

    def _hinted(self, _subject: bytes, _reply: bytes, payload: bytes, _headers: bytes) -> None:
        for reader in self._readers:
            reader.hint(payload)

    async def append(self, message: Append) -> int:
        """Store `message`; see `Log.append`. Raises `BusError` for a book without a key here."""
        book = parse_subject(message.subject).book
        log = self._logs.get(book)
        if log is None:
            raise BusError(f"{message.msg_id} cannot be appended: this process has no key of {source_name(book)}")
        return await log.append(message)

    def watched_by(self, look: Callable[[], Awaitable[None]]) -> None:
        """Await `look` too before each append, over whichever connection."""
        for log in self._logs.values():
            log.watched_by(look)

    def read(self, after: int) -> DirectReader:
        """Batches from `after` + 1 on; see `Log.read`."""
        reader = DirectReader(self._link, self._direct, self._first.check, after)
        self._readers = [*(other for other in self._readers if not other.closed), reader]
        return reader

    async def last_seq(self) -> int:
        """The last sequence."""
        return await self._first.last_seq()

    async def get(self, seq: int) -> Stored | None:
        """The message at `seq`."""
        return await self._first.get(seq)

    async def last_under(self, filter_subject: str) -> Stored | None:
        """The last message under a subject filter."""
        return await self._first.last_under(filter_subject)

    async def info(self) -> LogInfo:
        """The state of the stream; raises `LogBroken` if there is none."""
        return await self._first.info()


class AgentConnection:
    """Log and request/reply of all sources of this process."""

    def __init__(self, links: Mapping[str, Link]) -> None:
        """Use `connect_sources`."""
        self._links = tuple(links.values())
        self.link = self._links[0]
        self.log = AgentLog(links)
        self.rpc = NatsRpc(self._links[0])

    async def alive(self, timeout_s: float) -> bool:
        """Whether a message comes back over every connection within `timeout_s` each."""
        for link in self._links:
            if not await link.echo(timeout_s):
                return False
        return True

    async def close(self) -> None:
        """End every connection."""
        for link in self._links:
            await link.close()


async def connect_sources(url: str, keys: Mapping[str, Key], *, wait_s: float = CONNECT_WAIT_S) -> AgentConnection:
    """Connect once per source; `keys` by book. Raises `Unavailable`, `Refused`, and `BusError` for too many of them or none."""
    if not 0 < len(keys) <= MAX_SOURCES:
        raise BusError(f"an agent has 1 to {MAX_SOURCES} sources, not {len(keys)}")
    links: dict[str, Link] = {}
    try:
        for book, key in keys.items():
            links[book] = await Link.open(url, AGENT, wait_s, User(key, AGENT, book))
        connection = AgentConnection(links)
        server_checks.check_version(next(iter(links.values())))
        await connection.log.listen()
    except BaseException:
        for link in links.values():
            await link.close()
        raise
    return connection
