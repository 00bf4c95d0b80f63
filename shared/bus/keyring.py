"""Which keys are in force while the log is folded, and whether an event is signed by the right one."""

from collections.abc import Mapping
from typing import Final

from shared.bus.keys import ROOT, Key, key_name
from shared.bus.ports import BusError, LogBroken
from shared.protocol.envelope import Draft, Event
from shared.protocol.events import KeysAdopted
from shared.protocol.signing import KeyTextError, is_signed_by, verifier

FIRST: Final = 1
UNSIGNED_LOG: Final = (
    "sequence 1 is not signed: this log was made without keys, and nobody can say who wrote it: "
    "start a new one with --fresh, which puts this one aside"
)


class KeyReplaced(BusError):
    """The own key is no longer in force: this process must end, and is started again with the new one."""


class Keyring:
    """The keys in force up to the sequence folded.

    With `required` every event must be signed, as in every desk of real processes; else a log without `KeysAdopted` is taken
    as it is (tests, backtests). `root` is the public root key to trust; None: that of the first `KeysAdopted`.
    """

    def __init__(self, *, required: bool = False, root: str | None = None) -> None:
        """No keys are in force yet."""
        self.required, self.root = required, root
        self.keys: Mapping[str, str] | None = None
        self._first: Event | None = None

    def restore(self, adopted: KeysAdopted) -> None:
        """Go on from a state in which these keys are in force; raises `LogBroken` for a root that is not trusted."""
        self._trust(adopted.root, "the snapshot")
        self.keys = adopted.keys

    def refuses(self, event: Event, *, own: bool = False) -> str | None:
        """Why `event` is no fact, None if it is signed by whom it must be; of an `own` one the signature is known to be right.

        Raises `LogBroken` for keys under a root that is not trusted, and for a first event that the adopted key did not sign.
        """
        if event.type == KeysAdopted.__name__:
            return self._refuses_keys(event)
        if self.keys is None:
            return self._before_keys(event)
        name = key_name(event.author, event.book)
        public = self.keys.get(name)
        if public is None:
            return f"no key of {name} is in force"
        if own:
            return None
        return None if is_signed_by(event.payload, public) else f"not signed with the key of {name} that is in force"

    def _before_keys(self, event: Event) -> str | None:
        """Only the first clock event may stand before the keys; it is checked as soon as they are known."""
        first = event.author == "desk" and event.envelope.n == FIRST
        if first:
            if self.required and event.envelope.sig is None:
                raise LogBroken(UNSIGNED_LOG)
            self._first = event
        return None if first or not self.required else "no keys are in force yet"

    def _refuses_keys(self, event: Event) -> str | None:
        data = event.expect(KeysAdopted)
        try:
            signed = is_signed_by(event.payload, data.root)
            for public in data.keys.values():
                verifier(public)
        except KeyTextError as error:
            return f"it names a key that is none: {error}"
        if not signed:
            return "not signed with the root key that it names"
        self._trust(data.root, f"sequence {event.seq}")
        first = self._first
        if first is not None and not is_signed_by(first.payload, data.keys.get("desk", data.root)):
            raise LogBroken(f"sequence {first.seq}: {first.id} is not signed with the desk's key adopted at sequence {event.seq}")
        return None

    def _trust(self, root: str, where: str) -> None:
        if self.root is not None and root != self.root:
            raise LogBroken(
                f"{where} adopts keys under the root key {root}, but this desk trusts {self.root}: "
                "the log is another desk's, or root.pub and [desk] root_key are not this log's"
            )
        self.root = root

    def adopt(self, event: Event) -> None:
        """These keys are in force behind `event`, which `refuses` let pass."""
        self.keys, self._first = event.expect(KeysAdopted).keys, None


class Signer:
    """The secret keys of one process: by name, for the desk its root too."""

    def __init__(self, keys: Mapping[str, Key]) -> None:
        """Sign with these."""
        self._keys = dict(keys)
        self._coming: dict[str, Key] = {}

    def offer(self, name: str, key: Key) -> None:
        """Sign with `key` as soon as its public part is adopted."""
        self._coming[name] = key

    def sign(self, draft: Draft, payload: bytes) -> bytes:
        """The payload signed with the key of its author, `KeysAdopted` with the root's; raises `BusError` without that key."""
        name = ROOT if draft.type == KeysAdopted.__name__ else key_name(draft.author, draft.book)
        key = self._keys.get(name)
        if key is None:
            raise BusError(f"{draft.id} cannot be signed: this process has no key of {name}")
        return key.sign(payload)

    def follow(self, keys: Mapping[str, str]) -> None:
        """Use what was offered and is now in force; raises `KeyReplaced` if an own key is not in force any more."""
        for name, key in tuple(self._keys.items()):
            if name == ROOT or keys.get(name) == key.public:
                continue
            coming = self._coming.get(name)
            if coming is None or keys.get(name) != coming.public:
                raise KeyReplaced(f"the key {key.public} of {name} is not in force any more")
            self._keys[name] = self._coming.pop(name)
