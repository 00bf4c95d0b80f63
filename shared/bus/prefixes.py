"""What a process knows of each writer: its fence, its counter, its chain, and of its own prefixes the ids written."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec
import structlog

from shared.bus.keyring import Keyring
from shared.bus.ports import Fenced, LogBroken, Stored
from shared.protocol.envelope import EnvelopeError, Event, read_event, sha256_hex
from shared.protocol.events import KeysAdopted
from shared.protocol.ids import AUTHORS, book_of, prefix

AGENT: Final = "agent"
KEPT_IDS: Final = 10_000
MAX_RUN_CHARS: Final = 80

OnDrop = Callable[[Stored, str], None]
"""Told of every message that is no fact, and why."""

_log = structlog.get_logger("bus")


class Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where an own event stands and the hash of its `data`."""

    seq: int
    data_sha256: str


class Mark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A writer as a snapshot keeps it; `ids` only of own prefixes."""

    n: int
    prev: str | None
    seq: int
    ids: dict[str, Written] = {}


class Prefix:
    """One writer. `seq` is the last sequence under its filter, `n` and `prev` belong to its last valid event."""

    __slots__ = ("filter", "ids", "n", "prev", "seq")

    def __init__(self, filter_subject: str) -> None:
        """A writer that has not written yet."""
        self.filter = filter_subject
        self.seq = 0
        self.n = 0
        self.prev: str | None = None
        self.ids: dict[str, Written] = {}

    def keep(self, event: Event) -> None:
        """Remember an own event's id; the oldest is forgotten when there are `KEPT_IDS`."""
        if len(self.ids) >= KEPT_IDS:
            del self.ids[next(iter(self.ids))]
        self.ids[event.id] = Written(event.seq, sha256_hex(bytes(event.envelope.data)))


class Prefixes:
    """All writers, and who we are among them."""

    def __init__(self, author: str, instance: str, keyring: Keyring | None = None, on_drop: OnDrop | None = None) -> None:
        """`author` writes as `instance`; without a `keyring` an unsigned log is taken as it is."""
        self.author, self.instance = author, instance
        self.keyring = keyring or Keyring()
        self._on_drop = on_drop
        self.fenced_after: int | None = None
        """Foreign instances may stand under the own prefix up to here; None while folding for the first time."""
        self._prefixes: dict[str, Prefix] = {}
        self._by_head: dict[str, Prefix] = {}

    def of(self, author: str, book: str) -> Prefix:
        """The writer of `author`'s events about `book`: one per author, for agents one per book."""
        name = prefix(author, book if author == "agent" else None)
        found = self._prefixes.get(name)
        if found is None:
            found = self._prefixes[name] = Prefix(name)
        return found

    def _under(self, subject: str) -> Prefix | None:
        """The writer of a stored subject, None if no author of ours can have written it."""
        head = subject.rpartition(".")[0]
        found = self._by_head.get(head)
        if found is None:
            parts = head.split(".")
            if len(parts) != 3 or parts[0] != "ev" or parts[1] not in AUTHORS:
                return None
            found = self._by_head[head] = self.of(parts[1], parts[2])
        return found

    def read(self, stored: Stored, *, own: bool = False) -> tuple[Prefix, Event] | None:
        """The event in `stored` and its writer, None if it is to be dropped; moves the writer's fence in any case.

        Every process drops the same messages, whatever it does with the others, or their states would differ. `own`: we have
        just signed these very bytes, and only whether our key is in force is still looked at.

        Raises `Fenced` for a foreign instance under the own prefix after the first fold, `LogBroken` for a break of a service's
        chain, or for what a service decided on a longer log than stands before it.
        """
        try:
            writer = self._under(stored.subject)
            if writer is None:
                raise EnvelopeError("no writer of this desk")
            writer.seq = stored.seq
            return writer, self._fact(stored, writer, own)
        except EnvelopeError as error:
            self.drop(stored, str(error))
            return None

    def _fact(self, stored: Stored, writer: Prefix, own: bool) -> Event:
        """The event in `stored`, which its author has signed and nobody has stored before; raises `EnvelopeError`."""
        event = read_event(stored.seq, stored.subject, stored.payload)
        why = self.keyring.refuses(event, own=own)
        if why is not None:
            raise EnvelopeError(why)
        event.check_data()
        broken = _broken(writer, event)
        if event.author == AGENT:
            _check_source(event, broken)
        self._check_instance(event)
        if event.envelope.n <= writer.n:
            raise EnvelopeError(f"a repeat: n is {event.envelope.n}, the writer's last is {writer.n}")
        if broken is not None:
            raise LogBroken(f"sequence {event.seq}: {broken}")
        return event

    def drop(self, stored: Stored, why: str) -> None:
        """Say that a message is no fact."""
        _log.error("event dropped", alarm=True, seq=stored.seq, subject=stored.subject, id=stored.msg_id, why=why)
        if self._on_drop is not None:
            self._on_drop(stored, why)

    def accept(self, writer: Prefix, event: Event) -> None:
        """Count an event that `read` gave and that was applied."""
        writer.n, writer.prev = event.envelope.n, event.sha256
        if event.type == KeysAdopted.__name__:
            self.keyring.adopt(event)
        if event.author == self.author:
            writer.keep(event)

    def _check_instance(self, event: Event) -> None:
        if event.author != self.author or self.fenced_after is None or event.seq <= self.fenced_after:
            return
        other = event.envelope.by.instance
        if other != self.instance:
            raise Fenced(f"{other} wrote {event.id} at sequence {event.seq}: {self.instance} is not the only {self.author}")

    def marks(self) -> dict[str, Mark]:
        """Every writer by its filter, for a snapshot."""
        return {one.filter: Mark(one.n, one.prev, one.seq, dict(one.ids)) for one in self}

    def restore(self, marks: Mapping[str, Mark]) -> None:
        """Know what a snapshot kept, as if its events had been read here; the oldest ids come first again."""
        for name, mark in marks.items():
            kept = self._prefixes[name] = Prefix(name)
            kept.n, kept.prev, kept.seq = mark.n, mark.prev, mark.seq
            kept.ids = dict(sorted(mark.ids.items(), key=lambda item: item[1].seq))

    def __iter__(self) -> Iterator[Prefix]:
        """Every writer seen, by first appearance."""
        return iter(self._prefixes.values())


def _check_source(event: Event, broken: str | None) -> None:
    """Raise `EnvelopeError` for a source's event in a wrong place of its chain, or of another book's run."""
    if broken is not None:
        raise EnvelopeError(broken)
    if event.run is not None and book_of(event.run) != event.book:
        raise EnvelopeError(f"the run {event.run[:MAX_RUN_CHARS]!r} is none of {event.book}")


def _broken(writer: Prefix, event: Event) -> str | None:
    """Why `event` cannot be the one behind its writer's last, None if it can.

    Said of a service, which knows its own place, it means that the log was tampered with: the process must end. A source may
    be anybody's code, and what it signs must stop nobody else: its message is dropped. Should a source's event really have been
    taken out of the log, what the services decided behind it no longer fits: `as_of` is then not before their own sequence.
    """
    envelope = event.envelope
    if envelope.n != writer.n + 1:
        return f"{envelope.id} is number {envelope.n} under {writer.filter}, expected {writer.n + 1}: events are missing"
    if envelope.prev != writer.prev:
        return (
            f"{envelope.id} follows {envelope.prev}, but under {writer.filter} stands {writer.prev}: "
            "an event was changed or replaced"
        )
    if envelope.as_of >= event.seq:
        return f"{envelope.id} was decided when sequence {envelope.as_of} was folded, but stands before it: events are missing"
    return None
