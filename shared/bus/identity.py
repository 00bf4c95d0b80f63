"""Who a process is on the bus: its keys, what it trusts, and its connection."""

from collections.abc import Mapping
from typing import Final, Protocol

from shared.bus.agent_log import connect_sources
from shared.bus.jetstream import connect
from shared.bus.keyring import Keyring, Signer
from shared.bus.keys import Key, read_key, source_name
from shared.bus.link import Link, User
from shared.bus.ports import Rpc, WatchedLog
from shared.bus.rights import AGENT
from shared.bus.settings import ServiceSettings

NAME_SEPARATOR: Final = "/"


class Line(Protocol):
    """A connection: log and request/reply."""

    @property
    def link(self) -> Link:
        """What tells of each loss and return of the connection."""
        ...

    @property
    def log(self) -> WatchedLog:
        """The log."""
        ...

    @property
    def rpc(self) -> Rpc:
        """Request and reply."""
        ...

    async def alive(self, timeout_s: float) -> bool:
        """Whether a message comes back through the server within `timeout_s`."""
        ...

    async def close(self) -> None:
        """End it."""
        ...


class Identity:
    """The keys of one process by name, and the root key that it trusts (None: that of the first `KeysAdopted`)."""

    def __init__(self, author: str, keys: Mapping[str, Key], root: str | None = None) -> None:
        """`keys` are empty in tests without accounts: then nothing is signed, and an unsigned log is taken as it is."""
        self.author, self.keys, self.root = author, dict(keys), root

    def keyring(self) -> Keyring:
        """What checks the signatures of everything folded."""
        return Keyring(required=bool(self.keys), root=self.root)

    def signer(self) -> Signer | None:
        """What signs the own events."""
        return Signer(self.keys) if self.keys else None

    async def connect(self, url: str) -> Line:
        """Connect as this process; raises `Unavailable`, `Refused`."""
        if not self.keys:
            return await connect(url, self.author)
        if self.author == AGENT:
            return await connect_sources(url, {name.partition(NAME_SEPARATOR)[2]: key for name, key in self.keys.items()})
        return await connect(url, self.author, user=User(self.keys[self.author], self.author))


def identity_of(author: str, settings: ServiceSettings) -> Identity:
    """The identity that a service was given by whoever started it; raises `KeyFileError`."""
    files = {source_name(book): path for book, path in settings.key_files.items()}
    if settings.key_file is not None:
        files[author] = settings.key_file
    return Identity(author, {name: read_key(path) for name, path in files.items()}, settings.root_key)
