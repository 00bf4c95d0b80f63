"""Key files: one Ed25519 key per author and source, which signs its events and is its NATS user at the same time."""

import base64
import fcntl
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

from nacl.signing import SigningKey

from shared.bus.folder import sync_folder, write_whole
from shared.bus.ports import BusError
from shared.protocol.files import FileRefused, read_regular
from shared.protocol.ids import AUTHORS
from shared.protocol.signing import OPERATOR, USER, KeyTextError, public_text, read_seed, seed_text, sign, verifier

FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600
OTHERS: Final = 0o077
MAX_FILE_BYTES: Final = 200
MAKING_S: Final = 10.0
"""As long another process that makes keys in the same folder is waited for."""
MAKING_POLL_S: Final = 0.02
ROOT: Final = "root"
ROOT_LETTER: Final = "O"
"""With which a public root key begins."""
PROVISIONER: Final = "provisioner"
SINGLE_AUTHORS: Final = tuple(author for author in AUTHORS if author != "agent")
"""Authors with one key; agents have one per book."""


class KeyFileError(BusError):
    """A key file that must not be used, with its path and what to do; never with what it holds."""


class Key:
    """A secret key. Its text shows the public part only."""

    __slots__ = ("_kind", "_secret", "public")

    def __init__(self, secret: SigningKey, kind: int) -> None:
        """Use `Key.make` or `read_key`."""
        self._secret, self._kind = secret, kind
        self.public = public_text(secret, kind)

    @classmethod
    def make(cls, kind: int = USER) -> Self:
        """A new one, from the system's randomness."""
        return cls(SigningKey.generate(), kind)

    def sign(self, payload: bytes) -> bytes:
        """The signed payload."""
        return sign(payload, self._secret)

    def answer(self, nonce: str) -> bytes:
        """What proves to a NATS server that this user is who it says."""
        return base64.b64encode(self._secret.sign(nonce.encode()).signature)

    def write(self, path: Path) -> None:
        """Write the seed into a file that only its owner can read, all of it or nothing; raises `OSError`."""
        draft = path.with_name(f"{path.name}.part")
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
        try:
            os.fchmod(descriptor, FILE_MODE)
            os.write(descriptor, f"{seed_text(self._secret, self._kind)}\n".encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        draft.replace(path)
        sync_folder(path.parent)

    def __repr__(self) -> str:
        """Its public part."""
        return f"<key {self.public}>"


def read_key(path: Path, kind: int = USER, cure: str = "bring back the right one, or rotate the key") -> Key:
    """The key in a file; raises `KeyFileError` if it is missing, malformed (and how to cure that), or open to others."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise KeyFileError(f"the key file {path} is no regular file: {cure}")
        with path.open("rb") as file:
            _check_private(path, os.fstat(file.fileno()), "file", FILE_MODE)
            _check_private(path.parent, path.parent.stat(), "folder", FOLDER_MODE)
            text = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise KeyFileError(f"the key file {path} cannot be read: {(error.strerror or '').lower()}") from error
    try:
        return Key(read_seed(text.decode("ascii").removesuffix("\n"), kind), kind)
    except (UnicodeDecodeError, KeyTextError) as error:
        why = str(error) if isinstance(error, KeyTextError) else "it holds no seed of a key"
        raise KeyFileError(f"the key file {path} is not usable: {why}; {cure}") from None


def _check_private(path: Path, found: os.stat_result, what: str, mode: int) -> None:
    """Refuse what others than its owner can open."""
    if stat.S_IMODE(found.st_mode) & OTHERS:
        raise KeyFileError(
            f"the key {what} {path} is open to other users (mode {stat.S_IMODE(found.st_mode):04o}): "
            f"`chmod {mode:o} {path}`, and rotate its keys if others may have read them"
        )


def source_name(book: str) -> str:
    """The name of a source's key."""
    return f"agent/{book}"


def key_name(author: str, book: str) -> str:
    """The name of the key that signs `author`'s events about `book`."""
    return source_name(book) if author == "agent" else author


class KeyFolder:
    """The key files of one data directory."""

    def __init__(self, path: Path) -> None:
        """`path` need not exist yet."""
        self.path = path

    def file(self, name: str) -> Path:
        """The file of a key; a source's `agent/<book>` is `agent-<book>.nk`."""
        return self.path / f"{name.replace('/', '-')}.nk"

    def coming(self, name: str) -> Path:
        """The file of a key that is to take another's place."""
        return self.file(name).with_suffix(".nk.new")

    @property
    def root_file(self) -> Path:
        """The public root key that this desk trusts."""
        return self.path / "root.pub"

    def read(self, name: str) -> Key:
        """The key of `name`; raises `KeyFileError`."""
        return read_key(self.file(name), kind_of(name))

    def read_coming(self, name: str) -> Key:
        """The key that is to take the place of `name`; raises `KeyFileError`."""
        return read_key(self.coming(name), kind_of(name), "remove it, and rotate the key again")

    def make_missing(self, names: Iterable[str]) -> list[str]:
        """Make the keys that are not there yet; returns their names. Two processes make each once. Raises `KeyFileError`."""
        try:
            self.path.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            with self._alone():
                return [name for name in names if self._make(name)]
        except OSError as error:
            raise KeyFileError(f"keys cannot be made in {self.path}: {(error.strerror or '').lower()}") from error

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from making keys here meanwhile; raises `OSError`, `KeyFileError` if one never ends."""
        descriptor, until = os.open(self.path, os.O_RDONLY), time.monotonic() + MAKING_S
        try:
            while not _locked(descriptor):
                if time.monotonic() > until:
                    raise KeyFileError(f"another process makes keys in {self.path} and does not come to an end")
                time.sleep(MAKING_POLL_S)
            yield
        finally:
            os.close(descriptor)

    def _make(self, name: str) -> bool:
        """Make one key unless it is there; the root is not made anew where only its public part is kept."""
        if self.file(name).exists() or (name == ROOT and self.root_file.exists()):
            return False
        key = Key.make(kind_of(name))
        key.write(self.file(name))
        if name == ROOT:
            self.keep_root(key.public)
        return True

    def keep_root(self, public: str) -> None:
        """Trust this root from now on; raises `OSError`."""
        write_whole(self.root_file, f"{public}\n".encode("ascii"))

    def kept_root(self) -> str | None:
        """The public root key that was trusted before; None if there is none yet. Raises `KeyFileError`."""
        try:
            if not self.root_file.exists():
                return None
            text = read_regular(self.root_file, MAX_FILE_BYTES).decode("ascii", "replace").strip()
        except (FileRefused, OSError) as error:
            raise KeyFileError(f"the root key {self.root_file}: {error}") from error
        if not is_root_key(text):
            raise KeyFileError(
                f"{self.root_file} holds no public root key: bring back the right one, or remove it if root.nk is there"
            )
        return text


def is_root_key(text: str) -> bool:
    """Whether a text is a public root key."""
    try:
        verifier(text)
    except KeyTextError:
        return False
    return text.startswith(ROOT_LETTER)


def _locked(descriptor: int) -> bool:
    """Try to lock; False if somebody else holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def kind_of(name: str) -> int:
    """Operator for the root, else user."""
    return int(OPERATOR if name == ROOT else USER)
