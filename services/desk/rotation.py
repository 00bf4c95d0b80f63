"""A new key in place of an old one: made beside it, adopted in the log, then put in its place and told to the server.

In this order a stop at any point leaves either the old key in force and in its file, or the new one in force and waiting beside
it, which the next start puts in its place.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from services.desk.desk_keys import AUTHOR, DeskKeys
from shared.bus.keyring import Signer
from shared.bus.keys import ROOT, SINGLE_AUTHORS, source_name
from shared.ledger.state import State
from shared.protocol.envelope import Draft
from shared.protocol.events import KeysAdopted
from shared.protocol.ids import DESK_BOOK

Spread = Callable[[], Awaitable[None]]
"""Tells the server who its users are now."""


class RotationRefused(Exception):
    """A key that cannot be rotated: `code` for programs, the message for people."""

    def __init__(self, code: str, message: str) -> None:
        """Keep the code beside the message."""
        super().__init__(message)
        self.code: Final = code


def name_of(who: str) -> str:
    """The name of the key of an author or of a book's source."""
    return who if who in SINGLE_AUTHORS else source_name(who)


class Rotation:
    """Rotates keys of one desk."""

    def __init__(self, keys: DeskKeys, signer: Signer, spread: Spread) -> None:
        """`signer` is that of the desk's own part in the log."""
        self._keys, self._signer, self._spread = keys, signer, spread

    def draft(self, state: State, who: str, reason: str, request: str) -> Draft:
        """The event that adopts a new key of `who`; raises `RotationRefused`, `OSError`."""
        adopted, now = state.keys, state.now
        if adopted is None or now is None:
            raise RotationRefused("no_keys", "no keys are in force yet: start a run first")
        name = name_of(who)
        if name not in adopted.keys:
            known = ", ".join(found.removeprefix("agent/") for found in adopted.keys)
            raise RotationRefused("unknown_key", f"no key of {who} is in force: known are {known}")
        if not self._keys.folder.file(ROOT).exists():
            raise RotationRefused("no_root", f"the root key is not here: put its file into {self._keys.folder.file(ROOT)}")
        key = self._keys.coming().get(name) or self._keys.make_coming(name)
        self._signer.offer(name, key)
        data = KeysAdopted({**adopted.keys, name: key.public}, adopted.root, reason, name)
        return Draft(AUTHOR, DESK_BOOK, request, now, state.seq, data)

    async def settle(self, state: State) -> None:
        """Put what the log has adopted in its place."""
        if state.keys is not None and self._keys.settle(state.keys.keys):
            await self._spread()
