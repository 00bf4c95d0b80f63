"""Writing lazily: events are gathered and go into the database together, because every process shares two cores."""

import time
from collections.abc import Callable
from typing import Final

import structlog

from services.journal.batch import Batch
from services.journal.store import Store
from services.journal.summary import as_text, summary
from shared.bus.ports import Log, Stored
from shared.ledger.state import State
from shared.protocol.envelope import Event, sha256_hex

FLUSH_EVENTS: Final = 500
"""So many gathered events are written at once."""
FLUSH_AFTER_S: Final = 0.25
"""The longest time that an event is known but not written."""

_log = structlog.get_logger("journal")


class Recorder:
    """Gathers events behind what the store has and writes them when it is time."""

    def __init__(self, store: Store, now: Callable[[], float] = time.monotonic) -> None:
        """Go on behind the store's cursor; `now` gives seconds that never go back."""
        self._store = store
        self._now = now
        self._batch = Batch(store.cursor)
        self._since = 0.0
        self._state: State | None = None

    @property
    def written(self) -> int:
        """The sequence of the last event that is in the database."""
        return self._store.cursor

    @property
    def pending(self) -> int:
        """How many events are known but not written."""
        return self._batch.events

    def record(self, event: Event, state: State | None = None) -> None:
        """Gather one event, in order, with the state behind it; what the database has is skipped.

        Raises `StoreFailed` if writing a full batch fails.
        """
        self._state = state
        self._gathered(self._batch.add(event))

    def drop(self, stored: Stored, why: str) -> None:
        """Gather one message that is no event; as `record`."""
        self._gathered(self._batch.drop(stored, why))

    def _gathered(self, added: bool) -> None:
        if not added:
            return
        if self._batch.events == 1:
            self._since = self._now()
        if self._batch.events >= FLUSH_EVENTS:
            self.flush()

    def wait_s(self) -> float | None:
        """Seconds until something must be written, 0 if it is late; None while nothing is pending."""
        return max(0.0, self._since + FLUSH_AFTER_S - self._now()) if self._batch.events else None

    def flush_if_due(self) -> None:
        """Write what has waited long enough; raises `StoreFailed`."""
        if self.wait_s() == 0:
            self.flush()

    def flush(self) -> None:
        """Write everything gathered; raises `StoreFailed`, and then it is all still pending."""
        if self._batch.events:
            warn_of_unreadable(self._batch)
            self._batch.desk = None if self._state is None else as_text(summary(self._state))
            self._store.write(self._batch)
            self._batch = Batch(self._store.cursor)


def warn_of_unreadable(batch: Batch) -> None:
    """Raise an alarm for every event that has no rows because its data cannot be read."""
    for what in batch.unreadable:
        _log.error("event without rows: its data cannot be read", alarm=True, what=what)


async def agree(store: Store, log: Log) -> None:
    """Empty the store if its last event is not in this log: it was made from another one, or the log lost its end.

    Read models are disposable; what is right stands in the log alone. Says so in a warning.
    """
    if store.rebuilt is not None:
        _log.warning("the read models are rebuilt from the log", database=str(store.path), reason=store.rebuilt)
    if store.cursor == 0:
        return
    reason = await _contradiction(store, log)
    if reason is not None:
        store.reset(reason)
        _log.warning("the read models are rebuilt from the log", database=str(store.path), reason=reason)


async def _contradiction(store: Store, log: Log) -> str | None:
    """How the database and the log differ, None if the database can go on."""
    last = await log.last_seq()
    if store.cursor > last:
        return f"the database knows event {store.cursor}, the log ends at {last}"
    found = await log.get(store.cursor)
    if found is None or sha256_hex(found.payload) != store.sha256:
        return f"event {store.cursor} of the log is not the one that the database knows"
    return None
