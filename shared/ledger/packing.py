"""The whole folded state as bytes and back, for snapshots. Pure.

Maps keep their order, which is part of the state: open runs are worked off in the order in which they stand. An event that the
work part refers to is written with the payload as it is stored, so that reading it back gives the very same event.
"""

from typing import Any, Final

import msgspec

from shared.ledger.state import State
from shared.protocol.envelope import EnvelopeError, Event, read_event
from shared.protocol.ids import subject
from shared.protocol.money import Exact


class _Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A stored event."""

    seq: int
    subject: str
    payload: str


def _encode_other(value: object) -> object:
    match value:
        case Exact():
            return str(value)
        case Event():
            place = subject(value.author, value.book, value.type)
            return {"seq": value.seq, "subject": place, "payload": value.payload.decode()}
    raise NotImplementedError(f"{type(value).__name__} cannot stand in a snapshot")


def _decode_other(kind: type, value: Any) -> object:
    if kind is Exact and isinstance(value, str):
        return Exact.read(value)
    if kind is Event:
        kept = msgspec.convert(value, _Kept)
        return read_event(kept.seq, kept.subject, kept.payload.encode())
    raise ValueError(f"a {kind.__name__} cannot be read from a snapshot")


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_encode_other)
_DECODER: Final = msgspec.json.Decoder(State, dec_hook=_decode_other)


def pack(state: State) -> bytes:
    """The state as one JSON document; equal states that were folded in the same order give equal bytes."""
    return _ENCODER.encode(state)


def unpack(packed: bytes | msgspec.Raw) -> State:
    """The state that `pack` was given; raises `EnvelopeError` for anything else."""
    try:
        return _DECODER.decode(packed)
    except (msgspec.DecodeError, ValueError) as error:
        raise EnvelopeError(f"not a packed state: {error}") from error
