"""The envelope around every event, its canonical JSON and its way back.

Canonical JSON has sorted keys, no spaces, UTF-8 that is not ASCII-escaped, text in NFC, an absent optional as null, decimals
and times as canonical text. What is decoded is checked against the same form.
"""

import builtins
import hashlib
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, Final, TypeVar

import msgspec

from shared.protocol.events import (
    AUTHORS_OF,
    EVENT_TYPES,
    LARGE_TYPES,
    MAX_EVENT_BYTES,
    MAX_LARGE_EVENT_BYTES,
    VERSIONS,
    Data,
    EventData,
)
from shared.protocol.ids import Subject, event_id, parse_subject, subject
from shared.protocol.instants import Instant
from shared.protocol.money import Exact
from shared.protocol.upcast import UPCASTS, UpcastError, Upcasts, upcast

KEPT_NUMBERS: Final = 8192

T = TypeVar("T")
D = TypeVar("D", bound=Data)


class EnvelopeError(ValueError):
    """A stored payload that is no event of ours, with the reason."""


def _encode_other(value: object) -> str:
    """Write what JSON has no form for; only `Exact` is allowed."""
    if isinstance(value, Exact):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} cannot stand in an event")


@lru_cache(maxsize=KEPT_NUMBERS)
def _decode_other(kind: type, value: object) -> object:
    """Read `Exact` from canonical text only: JSON numbers, NaN and other spellings are refused.

    Quantities, prices and fees come again and again: what was read is kept for the next time; a refusal is not. (A list or an
    object cannot be looked up, which is a refusal too.)
    """
    if kind is Exact and isinstance(value, str):
        return Exact.read(value)
    raise ValueError(f"a {kind.__name__} must be text in canonical form, not {type(value).__name__}")


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_encode_other, order="sorted")


def canonical(value: object) -> bytes:
    """Canonical JSON of structs, dicts, lists, text, whole numbers and `Exact`."""
    return _ENCODER.encode(value)


@cache
def _decoder(kind: Any) -> Any:
    """One decoder per type, made once."""
    return msgspec.json.Decoder(kind, dec_hook=_decode_other)


def decode(kind: type[T], payload: bytes | msgspec.Raw) -> T:
    """Decode `payload` as `kind`, strictly; raises `EnvelopeError` that says where it differs."""
    try:
        return _decoder(kind).decode(payload)  # type: ignore[arg-type, no-any-return]  # classes are hashable
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise EnvelopeError(f"not a {kind.__name__}: {error}") from error


def sha256_hex(payload: bytes) -> str:
    """SHA-256 as lower-case hex."""
    return hashlib.sha256(payload).hexdigest()


def clean_text(text: str, limit: int) -> str:
    """Foreign text as events hold it: NFC, no control characters but newline and tab, at most `limit` characters."""
    kept = "".join(char for char in text if char in "\n\t" or unicodedata.category(char) not in {"Cc", "Cs"})
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", kept)[:limit])


class By(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Which process wrote the event."""

    service: str
    instance: str


class Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Everything around an event's `data`, which stays raw until it is asked for. (`gc`: it can be in no cycle.)

    `n` counts the writer's events from 1, `prev` is the SHA-256 of the payload before this one of the same writer, `as_of` the
    sequence that was folded when it was decided.
    """

    id: str
    type: str
    version: int
    book: str
    run: str | None
    at: Instant
    by: By
    n: int
    prev: str | None
    cause: str | None
    mode: str
    as_of: int
    trace: str
    data: msgspec.Raw
    sig: str | None = None


class Event:
    """A stored event: its place in the log, its envelope and, decoded on first use, its data."""

    __slots__ = ("_data", "_sha256", "author", "envelope", "payload", "seq")

    def __init__(self, seq: int, author: str, envelope: Envelope, payload: bytes) -> None:
        """Use `read_event` to make one."""
        self.seq, self.author, self.envelope, self.payload = seq, author, envelope, payload
        self._data: Data | None = None
        self._sha256: str | None = None

    @property
    def id(self) -> str:
        """The event's derived id."""
        return self.envelope.id

    @property
    def book(self) -> str:
        """The book, `_desk` for what belongs to the whole desk."""
        return self.envelope.book

    @property
    def run(self) -> str | None:
        """The run it belongs to."""
        return self.envelope.run

    @property
    def at(self) -> str:
        """Event time, canonical text."""
        return self.envelope.at

    @property
    def sha256(self) -> str:
        """Hash of the stored payload."""
        if self._sha256 is None:
            self._sha256 = sha256_hex(self.payload)
        return self._sha256

    @property
    def data(self) -> EventData:
        """The decoded data; raises `EnvelopeError` if it does not fit its type."""
        data = self._data
        if data is None:
            data = self._data = decode(EVENT_TYPES[self.envelope.type], self.envelope.data)
        return data  # type: ignore[return-value]  # EVENT_TYPES has these and no others

    def check_data(self) -> None:
        """Decode the data now; raises `EnvelopeError` if it does not fit its type."""
        _ = self.data

    @property
    def type(self) -> str:
        """The event's type."""
        return self.envelope.type

    def expect(self, kind: builtins.type[D]) -> D:
        """The data as `kind`; raises `EnvelopeError` for another type."""
        data = self.data
        if not isinstance(data, kind):
            raise EnvelopeError(f"event {self.seq} is a {self.type}, not a {kind.__name__}")
        return data

    def __repr__(self) -> str:
        """For messages and tests."""
        return f"<{self.seq} {self.id}>"


class Draft(msgspec.Struct, frozen=True):
    """An event that was decided but not yet appended; id, counter and links follow from it and its writer."""

    author: str
    book: str
    about: str
    at: str
    as_of: int
    data: EventData
    run: str | None = None
    cause: str | None = None
    k: int = 1
    mode: str = "sim"

    @property
    def type(self) -> str:
        """The event type."""
        return self.data.__class__.__name__

    @property
    def id(self) -> str:
        """The derived event id."""
        return event_id(self.author, self.type, self.about, self.k)

    @property
    def subject(self) -> str:
        """Where it will stand."""
        return subject(self.author, self.book, self.type)


def trace_of(desk: str, run: str | None, identity: str) -> str:
    """A W3C traceparent: the trace id from desk and run, the span id from the event id."""
    trace_id = sha256_hex(f"{desk}\n{run or ''}".encode())[:32]
    return f"00-{trace_id}-{sha256_hex(identity.encode())[:16]}-01"


def seal(
    draft: Draft, *, desk: str, instance: str, n: int, prev: str | None, sign: Callable[[bytes], bytes] | None = None
) -> bytes:
    """The payload of `draft` as event number `n` of its writer, signed by `sign` unless that is None.

    Raises `EnvelopeError` if it is too large.
    """
    envelope = Envelope(
        id=draft.id,
        type=draft.type,
        version=VERSIONS[draft.type],
        book=draft.book,
        run=draft.run,
        at=draft.at,
        by=By(draft.author, instance),
        n=n,
        prev=prev,
        cause=draft.cause,
        mode=draft.mode,
        as_of=draft.as_of,
        trace=trace_of(desk, draft.run, draft.id),
        data=msgspec.Raw(canonical(draft.data)),
    )
    payload = canonical(envelope) if sign is None else sign(canonical(envelope))
    limit = MAX_LARGE_EVENT_BYTES if draft.type in LARGE_TYPES else MAX_EVENT_BYTES
    if len(payload) > limit:
        raise EnvelopeError(f"{draft.id} has {len(payload)} bytes, more than the {limit} allowed for a {draft.type}")
    return payload


def read_event(seq: int, stored_subject: str, payload: bytes, upcasts: Upcasts = UPCASTS) -> Event:
    """Decode a stored event's envelope and check it against its subject; raises `EnvelopeError`.

    An older version's data is brought up to date; `payload` and its hash stay what is stored.
    """
    try:
        place = parse_subject(stored_subject)
    except ValueError as error:
        raise EnvelopeError(f"sequence {seq}: {error}") from error
    envelope = decode(Envelope, payload)
    _check(seq, place, envelope)
    if envelope.version != VERSIONS[envelope.type]:
        envelope = _upcasted(seq, envelope, upcasts)
    return Event(seq, place.author, envelope, payload)


def _upcasted(seq: int, envelope: Envelope, upcasts: Upcasts) -> Envelope:
    """The envelope as the newest version of its type would be written."""
    current = VERSIONS[envelope.type]
    try:
        fields = upcast(envelope.type, envelope.version, envelope.data, current, upcasts)
    except UpcastError as error:
        raise EnvelopeError(f"sequence {seq}: {error}") from error
    return msgspec.structs.replace(envelope, version=current, data=msgspec.Raw(canonical(fields)))


def _check(seq: int, place: Subject, envelope: Envelope) -> None:
    """Refuse an event whose envelope and subject disagree, or whose type is unknown or by the wrong author."""
    if envelope.type not in EVENT_TYPES:
        raise EnvelopeError(f"sequence {seq}: unknown event type {envelope.type[:40]!r}")
    if envelope.type != place.type or envelope.book != place.book or envelope.by.service != place.author:
        raise EnvelopeError(f"sequence {seq}: the envelope of {envelope.id[:80]!r} does not belong to its subject")
    if not envelope.id.startswith(place.ids):
        raise EnvelopeError(f"sequence {seq}: the id {envelope.id[:80]!r} is not that of a {place.type} by {place.author}")
    if place.author not in AUTHORS_OF[envelope.type]:
        raise EnvelopeError(f"sequence {seq}: {place.author} may not write {envelope.type}")
