"""`snapshot.json`: the folded state in a service's own folder, so that a restart need not fold the whole log. Disposable."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Final, Never

import msgspec
import structlog
from msgspec.structs import replace

from shared.bus.build import protocol_hash, rules_hash
from shared.bus.folder import SNAPSHOT_FILE, write_whole
from shared.bus.follower import Follower
from shared.bus.ports import Log, Stored
from shared.bus.prefixes import Mark
from shared.ledger.hashing import state_hash
from shared.ledger.packing import pack, unpack
from shared.ledger.state import State
from shared.protocol.envelope import EnvelopeError, canonical, sha256_hex
from shared.protocol.files import FileRefused, read_regular

FORMAT: Final = 1
EVERY: Final = 5_000
"""Sequences between two snapshots."""
LOOK_EVERY_S: Final = 1.0
MAX_BYTES: Final = 1024 * 1024 * 1024
EMPTY: Final = b'"checksum":""'

_log = structlog.get_logger("bus")


class Snapshot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the file holds, in canonical JSON; only inside `ledger` maps keep the order in which they were folded.

    `event_sha256` is the hash of the payload at `seq`, `state_hash` that of the ledger, `checksum` the SHA-256 of this document
    with an empty one: the state's hash does not cover its work part.
    """

    format: int
    protocol: str
    rules: str
    seq: int
    event_sha256: str
    prefixes: dict[str, Mark]
    ledger: msgspec.Raw
    state_hash: str
    checksum: str = ""

    def sealed(self) -> bytes:
        """The file's bytes."""
        return sealed(canonical(replace(self, checksum="")))

    def fault(self) -> str | None:
        """Why this build cannot use it, None if nothing in itself speaks against it."""
        build = {"format": FORMAT, "protocol": protocol_hash(), "rules": rules_hash()}
        for name, ours in build.items():
            if getattr(self, name) != ours:
                return f"its {name} is {getattr(self, name)}, this build's is {ours}"
        intact = self.checksum == sha256_hex(canonical(replace(self, checksum="")))
        return None if intact else "its checksum is not that of its content"


def sealed(unsealed: bytes) -> bytes:
    """A document with an empty checksum, which is its first field, with its own hash there."""
    return unsealed.replace(EMPTY, EMPTY[:-1] + sha256_hex(unsealed).encode() + b'"', 1)


def snapshot_of(follower: Follower[State], last: Stored) -> Snapshot:
    """What is folded now."""
    state = follower.state
    return Snapshot(
        format=FORMAT,
        protocol=protocol_hash(),
        rules=rules_hash(),
        seq=last.seq,
        event_sha256=sha256_hex(last.payload),
        prefixes=follower.prefixes.marks(),
        ledger=msgspec.Raw(pack(state)),
        state_hash=state_hash(state),
    )


class Snapshots:
    """Writes and reads the snapshot of one service."""

    def __init__(self, log: Log, follower: Follower[State], folder: Path | None) -> None:
        """Keep it in `folder`, which exists; None: nowhere."""
        self._log, self._follower = log, follower
        self._path = None if folder is None else folder / SNAPSHOT_FILE
        self._at = 0

    async def restore(self, limit: int | None = None) -> None:
        """Let the follower go on behind the snapshot if it is right for this log and this build; else it is removed.

        With a `limit` it is left alone, and not used, if it stands behind that sequence.
        """
        if self._path is None:
            return
        try:
            if not self._path.exists():
                return
            content = read_regular(self._path, MAX_BYTES)
        except (FileRefused, OSError) as error:
            self._discard(str(error))
            return
        try:
            await self._use(msgspec.json.decode(content, type=Snapshot), limit)
        except (msgspec.DecodeError, EnvelopeError) as error:
            self._discard(f"it cannot be read: {error}")

    async def _use(self, found: Snapshot, limit: int | None) -> None:
        fault = found.fault() or self._is_foreign(found)
        last = None if fault else await self._log.get(found.seq)
        if fault is None and (last is None or sha256_hex(last.payload) != found.event_sha256):
            fault = f"sequence {found.seq} of the log is not the event that it knows"
        if fault is not None or last is None:
            self._discard(fault or "")
            return
        state = unpack(found.ledger)
        if state_hash(state) != found.state_hash:
            self._discard(f"its state has another hash than {found.state_hash}")
            return
        if limit is not None and limit < found.seq:
            _log.info("snapshot not used: older events are needed", seq=found.seq, needed_after=limit)
            return
        self._follower.restore(state, last, state.seq, found.prefixes)
        if state.keys is not None:
            self._follower.prefixes.keyring.restore(state.keys)
        self._at = found.seq
        _log.info("folding goes on behind a snapshot", seq=found.seq)

    def _is_foreign(self, found: Snapshot) -> str | None:
        """Why another service must have written it, None if nothing says so: it does not know which ids we have used."""
        own = f"ev.{self._follower.author}."
        for name, mark in found.prefixes.items():
            if bool(mark.ids) != (mark.n > 0 and name.startswith(own)):
                return f"it is another service's: of {name} it {'knows' if mark.ids else 'does not know'} the ids"
        return None

    def _discard(self, why: str) -> None:
        assert self._path is not None
        with suppress(OSError):  # a folder in its place, a file system that may only be read: it is not used, and that is enough
            self._path.unlink(missing_ok=True)
        _log.warning("snapshot removed, the log is folded from the start", file=str(self._path), why=why)

    async def run(self) -> Never:
        """Write one whenever `EVERY` sequences were folded since the last."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            if self._follower.ready and self._follower.cursor >= self._at + EVERY:
                await self.write()

    async def write(self) -> None:
        """Write what is folded now, if it is more than before; a full disk costs only the snapshot."""
        last = self._follower.last
        if self._path is None or last is None or last.seq == self._at:
            return
        unsealed = canonical(snapshot_of(self._follower, last))
        try:
            await asyncio.to_thread(_write_sealed, self._path, unsealed)
        except OSError as error:
            _log.warning("no snapshot could be written", error=str(error))
            return
        self._at = last.seq


def _write_sealed(path: Path, unsealed: bytes) -> None:
    write_whole(path, sealed(unsealed))
