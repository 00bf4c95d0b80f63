"""The keys of a data directory as the desk uses them: made at the first start, adopted in the log, handed to who needs them."""

import json
import os
from collections.abc import Iterable, Mapping
from typing import Final, Self

from services.desk.config import config_of, pinned_root
from services.desk.errors import UsageError
from services.desk.layout import Layout
from shared.bus.folder import sync_folder
from shared.bus.identity import Identity
from shared.bus.keyring import Signer
from shared.bus.keys import PROVISIONER, ROOT, SINGLE_AUTHORS, Key, KeyFileError, KeyFolder, source_name
from shared.bus.link import User
from shared.ledger.state import State
from shared.protocol.events import KeysAdopted
from shared.protocol.ids import BOOK_NAME

AUTHOR: Final = "desk"
FIRST_REASON: Final = "first start"


class DeskKeys:
    """Every key of the desk. `root` is the public root key that it trusts."""

    def __init__(self, folder: KeyFolder, root: str, names: Iterable[str]) -> None:
        """Use `DeskKeys.prepare`."""
        self.folder, self.root = folder, root
        self.keys = {name: folder.read(name) for name in names}
        self._check_different()
        self._connected: dict[str, User] = {}

    @classmethod
    def prepare(cls, layout: Layout, books: Iterable[str] = ()) -> Self:
        """Make what is missing, for these books' sources too, and read it all; raises `UsageError`."""
        folder, pinned = KeyFolder(layout.keys), pinned_root(config_of(layout))
        names = (*SINGLE_AUTHORS, PROVISIONER, *map(source_name, books))
        try:
            if layout.has_log and pinned is None:
                _check_has_root(folder)
            folder.make_missing(names if pinned else (ROOT, *names))
            root = _trusted(folder, pinned)
            return cls(folder, root, names)
        except KeyFileError as error:
            raise UsageError(str(error)) from error

    def _check_different(self) -> None:
        """Raise `KeyFileError` if one key stands in two files: nobody could tell those authors apart."""
        first: dict[str, str] = {}
        for name, key in self.keys.items():
            other = first.setdefault(key.public, name)
            if other != name:
                files = f"{self.folder.file(other)} and {self.folder.file(name)}"
                raise KeyFileError(f"{files} hold the same key: bring back the right one, or remove it and rotate")

    def users(self) -> dict[str, str]:
        """Public keys by name, of everybody who may connect."""
        return {name: key.public for name, key in self.keys.items()}

    def adopted(self, reason: str = FIRST_REASON) -> KeysAdopted:
        """The event that puts these keys in force."""
        public = {name: key.public for name, key in self.keys.items() if name != PROVISIONER}
        return KeysAdopted(public, self.root, reason)

    def identity(self) -> Identity:
        """The desk's own."""
        return Identity(AUTHOR, {AUTHOR: self.keys[AUTHOR]}, self.root)

    def signer(self) -> Signer:
        """What the desk signs with: its own key, and the root where that is kept here; raises `KeyFileError`.

        Keys of rotations that were cut short are taken as soon as the log proves to have adopted them.
        """
        keys = {AUTHOR: self.keys[AUTHOR]}
        if self.folder.file(ROOT).exists():
            keys[ROOT] = self.folder.read(ROOT)
        signer = Signer(keys)
        for name, key in self.coming().items():
            signer.offer(name, key)
        return signer

    def root_signer(self) -> Signer:
        """The root alone, for a change of keys: the desk's own may be the one that was lost. Raises `KeyFileError`."""
        return Signer({ROOT: self.folder.read(ROOT)} if self.folder.file(ROOT).exists() else {})

    def user(self, name: str) -> User:
        """An author's or the provisioner's user; after a rotation it connects with the new key."""
        return self._connected.setdefault(name, User(self.keys[name], name))

    def environment(self, service: str) -> dict[str, str]:
        """What a service is told of keys: where its own are, and whom it trusts."""
        trust = {"PROPDESK_ROOT_KEY": self.root}
        if service in self.keys:
            return {**trust, "PROPDESK_KEY_FILE": str(self.folder.file(service).resolve())}
        files = {name.partition("/")[2]: str(self.folder.file(name).resolve()) for name in self.keys if "/" in name}
        return {**trust, "PROPDESK_KEY_FILES": json.dumps(files)}

    def coming(self) -> dict[str, Key]:
        """Keys of rotations that did not come to their end; raises `KeyFileError`."""
        return {name: self.folder.read_coming(name) for name in self.keys if self.folder.coming(name).exists()}

    def make_coming(self, name: str) -> Key:
        """A new key of `name`, kept beside the old one until the log has adopted it; raises `OSError`."""
        key = Key.make()
        key.write(self.folder.coming(name))
        return key

    def settle(self, adopted: Mapping[str, str]) -> bool:
        """Let every key that the log has adopted take the old one's place, and drop the others; True if any did."""
        changed = False
        for name, key in self.coming().items():
            if adopted.get(name) == key.public:
                os.replace(self.folder.coming(name), self.folder.file(name))
                sync_folder(self.folder.path)
                self.keys[name], changed = key, True
                if name in self._connected:
                    self._connected[name].key = key
            else:
                self.folder.coming(name).unlink()
        return changed

    def check(self, state: State) -> None:
        """Raise `UsageError` if the key files are not those that the log has adopted."""
        if state.keys is None:
            if not self.folder.file(ROOT).exists():
                raise UsageError(
                    f"the first keys must be signed with the root key {self.root}: put its file into {self.folder.file(ROOT)}"
                )
            return
        wrong = [name for name, public in state.keys.keys.items() if name in self.keys and self.keys[name].public != public]
        missing = [name for name in self.keys if name not in state.keys.keys and name != PROVISIONER]
        if wrong or missing:
            raise UsageError(
                f"{self.folder.path} does not hold the keys adopted at sequence {state.keys_seq} "
                f"({', '.join([*wrong, *missing])}): bring back the right files, or `propdesk keys rotate` each"
            )


def books_with_keys(layout: Layout) -> tuple[str, ...]:
    """Books whose source has a key file."""
    names = (path.stem.removeprefix("agent-") for path in sorted(layout.keys.glob("agent-*.nk")))
    return tuple(name for name in names if BOOK_NAME.fullmatch(name))


def _check_has_root(folder: KeyFolder) -> None:
    """Raise `KeyFileError` where a log exists and nothing says whose it is: a new root would only be in the old one's way."""
    if not folder.file(ROOT).exists() and folder.kept_root() is None:
        raise KeyFileError(
            f"{folder.path} has neither root.nk nor root.pub, but there is a log that was made with keys: bring them back, "
            "or say in propdesk.toml which root key this desk trusts ([desk] root_key)"
        )


def _trusted(folder: KeyFolder, pinned: str | None) -> str:
    """The root key to trust: the configured one, else the one kept at the first use, else the one that is here alone.

    Raises `KeyFileError`.
    """
    kept = folder.kept_root()
    own = folder.read(ROOT).public if folder.file(ROOT).exists() else None
    root = pinned or kept or own
    if root is None:
        raise KeyFileError(f"{folder.path} has neither root.nk nor root.pub: nobody can say which keys to trust")
    if own not in {None, root}:
        raise KeyFileError(f"{folder.file(ROOT)} is the root key {own}, but this desk trusts {root}: bring back the right one")
    if kept is None:
        folder.keep_root(root)
    return root
