"""Folding the log: every event once, in order, checked, into one state."""

from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar

from shared.bus.borders import ARMED, border
from shared.bus.keyring import Keyring, Signer
from shared.bus.ports import BusError, Log, LogBroken, Reading, Stored, Unavailable
from shared.bus.prefixes import Mark, OnDrop, Prefixes
from shared.protocol.envelope import EnvelopeError, Event
from shared.protocol.events import KeysAdopted

FOLD_TIMEOUT_S: Final = 60.0
ONLY_READS: Final = ""
"""The author of a process that writes nothing: whoever writes beside it is no rival."""

S = TypeVar("S")


class Follower(Generic[S]):
    """Folds the log into `state` up to `cursor`.

    Nothing is folded but inside the methods that its user awaits, so the state stands still between two awaits.
    """

    def __init__(
        self,
        log: Log,
        *,
        author: str,
        instance: str,
        state: S,
        apply: Callable[[S, Event], S],
        types: frozenset[str] | None = None,
        keyring: Keyring | None = None,
        signer: Signer | None = None,
        on_drop: OnDrop | None = None,
    ) -> None:
        """`apply` is called with the events of `types` (None: all); every event is checked.

        `keyring` says which signatures count (None: an unsigned log is taken as it is), `signer` holds the own keys.
        """
        self.log, self.author, self.instance = log, author, instance
        self.state = state
        self.cursor = 0
        self.last: Stored | None = None
        """The message at the cursor; None before the first."""
        self.counted = 0
        """The sequence of the last event that was no dropped message: the state is that behind it."""
        self.ready = False
        self._apply, self._types = apply, types
        self._prefixes = Prefixes(author, instance, keyring, on_drop)
        self._signer = signer
        self._woken = False
        self._stopping = False
        self._reading: Reading | None = None

    @property
    def prefixes(self) -> Prefixes:
        """What is known of each writer."""
        return self._prefixes

    def restore(self, state: S, last: Stored, counted: int, marks: Mapping[str, Mark]) -> None:
        """Go on behind `last`, whose state and marks of writers were kept; before `start` only."""
        self.state, self.cursor, self.last, self.counted = state, last.seq, last, counted
        self._prefixes.restore(marks)

    async def start(self) -> None:
        """Begin reading and fold up to the log's last sequence.

        Events that a foreign instance of the same author wrote up to there are history, any later one fences this process.
        """
        last = await self.log.last_seq()
        self._prefixes.fenced_after = last
        self._reading = self.log.read(self.cursor)
        await self.fold_to(last)
        self._follow_keys()
        self.ready = True

    async def advance(self, timeout_s: float | None = None) -> bool:
        """Wait for new events and fold them; False if there are none because of `wake`, `stop` or the time given.

        Raises `LogBroken`, `Fenced`, `Unavailable`, and what `apply` raises.
        """
        before = self.cursor
        self._fold_arrived()
        if self.cursor == before and not self._woken and not self._stopping:
            await self._source.wait(timeout_s)
            self._fold_arrived()
        self._woken = False
        if ARMED and self.last is not None and self.cursor > before:
            await border(self.author, f"receive.{self.last.subject.rpartition('.')[2]}")
        return self.cursor > before

    async def catch_up(self) -> None:
        """Fold up to the log's present last sequence, from its leader; raises `LogBroken` if it is behind the cursor."""
        last = await self.log.last_seq()
        self._check_tail(last)
        await self.fold_to(last)

    async def fold_to(self, seq: int) -> None:
        """Fold at least up to `seq`; raises `Unavailable` if nothing arrives for `FOLD_TIMEOUT_S`."""
        self._fold_arrived()
        while self.cursor < seq:
            if not await self._source.wait(FOLD_TIMEOUT_S):
                raise Unavailable(f"sequence {seq} does not arrive; folded up to {self.cursor}")
            self._fold_arrived()

    def wake(self) -> None:
        """Let a pending `advance` return, or the next one if none is pending."""
        self._woken = True
        self._notify()

    def stop(self) -> None:
        """From now on `advance` does not wait."""
        self._stopping = True
        self._notify()

    async def close(self) -> None:
        """Stop reading; the log itself stays open."""
        self.stop()
        if self._reading is not None:
            await self._reading.aclose()

    @property
    def _source(self) -> Reading:
        if self._reading is None:
            raise BusError(f"{self.author} takes no part in the log before `start`")
        return self._reading

    def _notify(self) -> None:
        if self._reading is not None:
            self._reading.notify()

    def _fold_arrived(self) -> None:
        """Fold what the reader has; it is taken in parts so that what is held stays bounded."""
        while batch := self._source.take():
            for stored in batch:
                if stored.seq > self.cursor:
                    self._fold(stored)
                elif stored.seq == self.cursor:  # applied at its acknowledgement
                    self._check_same(stored)

    def _fold(self, stored: Stored, *, own: bool = False) -> Event | None:
        """Check and apply one message; None if it was dropped. `own`: we have just signed it."""
        if stored.seq != self.cursor + 1:
            raise LogBroken(f"sequences {self.cursor + 1} to {stored.seq - 1} were not delivered")
        event = self._checked(stored, own)
        self.cursor, self.last = stored.seq, stored
        if self.ready and event is not None and event.type == KeysAdopted.__name__:
            self._follow_keys()
        return event

    def _check_same(self, stored: Stored) -> None:
        if self.last is None or stored.payload != self.last.payload:
            raise LogBroken(f"sequence {stored.seq} is not the event that was acknowledged there")

    def _follow_keys(self) -> None:
        """Sign with the own keys in force; raises `KeyReplaced` if they are not in force any more."""
        keys = self._prefixes.keyring.keys
        if self._signer is not None and keys is not None:
            self._signer.follow(keys)

    def _checked(self, stored: Stored, own: bool) -> Event | None:
        found = self._prefixes.read(stored, own=own)
        if found is None:
            return None
        writer, event = found
        if self._types is None or event.type in self._types:
            try:
                self.state = self._apply(self.state, event)
            except EnvelopeError as error:
                self._prefixes.drop(stored, str(error))
                return None
        self._prefixes.accept(writer, event)
        self.counted = event.seq
        return event

    def _check_tail(self, last_seq: int) -> None:
        if last_seq < self.cursor:
            raise LogBroken(
                f"the log ends at sequence {last_seq}, but {self.cursor} was folded: "
                f"sequences {last_seq + 1} to {self.cursor} are lost"
            )
