"""`propdesk replay`: every read model anew, and the hash of the ledger, from the log alone."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from services.journal.batch import Batch
from services.journal.files import discard, install
from services.journal.lock import WriterLock, lock_file
from services.journal.recorder import warn_of_unreadable
from services.journal.store import BUILDING, Store
from services.journal.summary import as_text, summary
from shared.bus.follower import ONLY_READS, Follower
from shared.bus.keyring import Keyring
from shared.bus.participant import instance_name
from shared.bus.ports import Log, Stored
from shared.ledger.fold import apply
from shared.ledger.hashing import state_hash
from shared.ledger.state import State
from shared.protocol.envelope import Event

EVENTS_PER_WRITE: Final = 4000
PROGRESS_EVERY: Final = 1000
BUILT_SUFFIX: Final = ".new"

Progress = Callable[[int, int], None]
"""Told the sequences done and those in all, every thousand and at the end."""


class ReplayResult(msgspec.Struct, frozen=True):
    """What a replay found. `replaced` says whether the database now holds these read models."""

    events: int
    seconds: float
    last_seq: int
    state_hash: str
    replaced: bool


async def replay(
    log: Log,
    database: Path | None,
    progress: Progress | None = None,
    *,
    to: int | None = None,
    keyring: Keyring | None = None,
) -> ReplayResult:
    """Fold the whole log, or up to sequence `to`, and rebuild `database` from it.

    The new database is built beside the old one and takes its place at the end in one step. With `to`, or without a
    `database`, only the ledger is folded and no database is touched.

    Drops what the services drop (repeats, messages that are no events or not signed as `keyring` demands). Raises
    `ValueError` if the log ends before `to`,
    `DatabaseInUse` if a running journal writes the database, `StoreFailed`, `LogBroken`, and what reading the log raises.
    """
    started = time.monotonic()
    last = await _last(log, to)
    work = _Replay(log, last, progress, keyring)
    if database is None or to is not None:
        state, replaced = await work.run(), False
    else:
        state, replaced = await _rebuild(work, database), True
    return ReplayResult(last, time.monotonic() - started, last, state_hash(state), replaced)


async def _last(log: Log, to: int | None) -> int:
    """The sequence at which to stop."""
    last = await log.last_seq()
    if to is None:
        return last
    if not 1 <= to <= last:
        raise ValueError(f"sequence {to} is not in the log, which has 1 to {last}")
    return to


async def _rebuild(work: "_Replay", database: Path) -> State:
    """Build beside and put in place; whatever fails before that leaves the old database as it was."""
    database.parent.mkdir(parents=True, exist_ok=True)
    lock = WriterLock(database)
    built = database.with_name(database.name + BUILT_SUFFIX)
    try:
        discard(built)
        with Store(built, BUILDING) as store:
            state = await work.run(store)
        install(built, database)
    finally:
        discard(built)
        lock_file(built).unlink(missing_ok=True)
        lock.release()
    return state


class _Replay:
    """One pass over the log, from its first event to `last`, dropping and checking as every service does."""

    def __init__(self, log: Log, last: int, progress: Progress | None, keyring: Keyring | None) -> None:
        """Nothing is read before `run`."""
        self._last, self._progress = last, progress
        self._store: Store | None = None
        self._batch = Batch(0)
        self._state = State()
        self._follower = Follower(
            log,
            author=ONLY_READS,
            instance=instance_name(),
            state=State(),
            apply=self._apply,
            keyring=keyring,
            on_drop=self._dropped,
        )

    async def run(self, store: Store | None = None) -> State:
        """Fold everything, writing read models into `store` if there is one."""
        self._store = store
        if self._last:
            try:
                await self._follower.start()
            finally:
                await self._follower.close()
        self._write()
        if self._progress is not None:
            self._progress(self._last, self._last)
        return self._follower.state

    def _apply(self, state: State, event: Event) -> State:
        """Fold one event and gather its rows; what was appended after the start is left out."""
        if event.seq > self._last:
            return state
        state = self._state = apply(state, event)
        if self._store is not None:
            self._batch.add(event)
            self._write_if_full()
        if self._progress is not None and event.seq % PROGRESS_EVERY == 0:
            self._progress(event.seq, self._last)
        return state

    def _dropped(self, stored: Stored, why: str) -> None:
        """Gather the row of a message that is no fact."""
        if self._store is not None and stored.seq <= self._last:
            self._batch.drop(stored, why)
            self._write_if_full()

    def _write_if_full(self) -> None:
        if self._batch.events >= EVENTS_PER_WRITE:
            self._write()

    def _write(self) -> None:
        """Write what was gathered."""
        if self._store is not None:
            warn_of_unreadable(self._batch)
            self._batch.desk = as_text(summary(self._state))
            self._store.write(self._batch)
            self._batch = Batch(self._store.cursor)
