"""JSON of the simulator's file and wire: amounts are text in plain notation, absent fields are null."""

from typing import Any, Final

import msgspec

from shared.protocol.money import Exact


def _encode_other(value: object) -> str:
    """Only `Exact` stands beside what JSON knows."""
    if isinstance(value, Exact):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} cannot be sent")


def decode_exact(kind: type, value: object) -> object:
    """Read `Exact` from decimal text; raises `ValueError` for numbers, other spellings and other types."""
    if kind is not Exact or not isinstance(value, str):
        raise ValueError(f"an amount is decimal text, found {type(value).__name__}")
    return Exact(value)


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_encode_other)


def encode(value: Any) -> bytes:
    """One JSON document without newlines."""
    return _ENCODER.encode(value)
