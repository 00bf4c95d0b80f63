"""Fields: how a value stands on the wire, and how one is read off it. Every field, the last one too, ends with one NUL byte."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from shared.protocol.money import Exact, NumberError, parse_number, plain

Value = str | int | Decimal | None
"""What a field can be sent as: text, whole number, exact number, flag (`bool`), or None for an empty one."""
Message = tuple[Value, ...]

UNSET_DOUBLE: Final = "1.7976931348623157E308"
UNSET_INT: Final = "2147483647"
_HUGE: Final = Decimal("1e300")
MAX_TEXT_CHARS: Final = 4096


class FieldError(ValueError):
    """A field that is not what stands in its place, with its name."""


def text(value: Value) -> str:
    """A value as its field: numbers in plain notation, flags as 1 and 0, None as nothing; NUL bytes cannot be sent."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, Decimal):
        return plain(value)
    return str(value).replace("\0", " ")


def encode(message: Sequence[Value]) -> bytes:
    """A message as the payload of a frame."""
    return "".join(f"{text(value)}\0" for value in message).encode()


def split(payload: bytes) -> tuple[str, ...]:
    """The fields of a payload; raises `FieldError` where it is no text or does not end with NUL."""
    try:
        decoded = payload.decode()
    except UnicodeDecodeError as error:
        raise FieldError(f"the message is not UTF-8: {error.reason} at byte {error.start}") from error
    if not decoded.endswith("\0"):
        raise FieldError("the message does not end with NUL")
    return tuple(decoded[:-1].split("\0"))


class Reader:
    """Takes fields one after another; each taker names its field for the error."""

    def __init__(self, fields: Sequence[str]) -> None:
        """Begin at the first field."""
        self._fields, self._at = fields, 0

    def text(self, name: str) -> str:
        """A text as it stands."""
        if self._at >= len(self._fields):
            raise FieldError(f"{name} is missing")
        self._at += 1
        found = self._fields[self._at - 1]
        if len(found) > MAX_TEXT_CHARS:
            raise FieldError(f"{name} has over {MAX_TEXT_CHARS} characters")
        return found

    def skip(self, count: int) -> None:
        """Pass over fields that are not used here."""
        for _ in range(count):
            self.text("field")

    def whole(self, name: str, default: int | None = None) -> int:
        """A whole number; `default` where the field is empty, if one is given."""
        found = self.text(name)
        if not found and default is not None:
            return default
        if not (found.removeprefix("-").isascii() and found.removeprefix("-").isdigit() and len(found) <= 20):
            raise FieldError(f"{name} is no whole number: {found[:40]!r}")
        return int(found)

    def number(self, name: str) -> Exact | None:
        """An exact number, None where the field is empty or says that it is unset."""
        found = self.text(name)
        if found in {"", UNSET_DOUBLE, "1.7976931348623157e+308"}:
            return None
        try:
            value = parse_number(found)
        except NumberError as error:
            raise FieldError(f"{name}: {error}") from error
        return None if abs(value) >= _HUGE else Exact(value)

    def flag(self, name: str) -> bool:
        """A flag: 1, or 0 or nothing. `True` and `False`, as numpy's flags are sent, are refused like anything else."""
        found = self.text(name)
        if found not in {"", "0", "1"}:
            raise FieldError(f"{name} is no flag (1 or 0): {found[:40]!r}")
        return found == "1"
