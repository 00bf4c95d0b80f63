"""Reading documents that people and programs write: JSON with exact numbers, closed shapes, errors that say where."""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final, Never

from services.gate.policy_fields import TomlFloat, is_currency, read_number
from shared.protocol.events import MAX_TEXT_CHARS
from shared.protocol.files import FileRefused, read_regular
from shared.protocol.instants import to_text
from shared.protocol.market import MAX_SYMBOL_CHARS
from shared.protocol.money import MAX_NUMBER_CHARS, Exact

MAX_INPUT_BYTES: Final = 16_000_000
_SHOWN_CHARS: Final = 60


class InputError(ValueError):
    """A wrong input: where it is, what was found and what is accepted."""


class NumberText(TomlFloat):
    """The text of a JSON number, so that it is converted exactly."""

    __slots__ = ()


def read_json(path: Path) -> object:
    """A JSON document whose numbers are `NumberText`; raises `InputError` for anything else, also a key that stands twice."""
    try:
        content = read_regular(path, MAX_INPUT_BYTES, "a JSON file")
    except FileRefused as error:
        raise InputError(f"{path}: {error}") from error
    return parse_json(content, str(path))


def parse_json(content: bytes, where: str) -> object:
    """The same from bytes; `where` is named in errors."""
    try:
        return json.loads(
            content.decode("utf-8-sig"),
            parse_float=NumberText,
            parse_int=NumberText,
            parse_constant=_no_constant,
            object_pairs_hook=_unique,
        )
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not valid JSON: {error}") from error


def _no_constant(name: str) -> Never:
    raise ValueError(f'{name} is no JSON number: write it as text, "{name}"')


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(key for index, (key, _) in enumerate(pairs) if any(key == other for other, _ in pairs[:index]))
        raise ValueError(f"the key {twice[:_SHOWN_CHARS]!r} stands twice")
    return found


class Fields:
    """The keys of one JSON object, read one after another; what nobody reads is an error."""

    def __init__(self, value: object, where: str, known: tuple[str, ...]) -> None:
        """Take an object that has no other keys than `known`."""
        if not isinstance(value, dict):
            raise InputError(f"{where}: must be an object, not {shown(value)}")
        self._values: Mapping[str, object] = value
        self.where = where
        for key in self._values:
            if key not in known:
                raise InputError(f"{where}: unknown key {key[:_SHOWN_CHARS]!r}; accepted: {', '.join(known)}")

    def has(self, key: str) -> bool:
        """Whether the key is there and not null."""
        return self._values.get(key) is not None

    def raw(self, key: str) -> object:
        """The value of a key that must be there."""
        if key not in self._values:
            raise InputError(f"{self.where}: {key} is missing")
        return self._values[key]

    def wrong(self, key: str, accepted: str) -> InputError:
        """The error for a value that is not accepted."""
        return InputError(f"{self.where}.{key} = {shown(self._values.get(key))}: must be {accepted}")

    def text(self, key: str, limit: int = MAX_TEXT_CHARS) -> str:
        """A text of at most `limit` characters."""
        value = self.raw(key)
        if not isinstance(value, str) or isinstance(value, NumberText) or len(value) > limit:
            raise self.wrong(key, f"text of at most {limit} characters")
        return value

    def symbol(self, key: str) -> str:
        """A symbol or exchange: some text."""
        value = self.text(key, MAX_SYMBOL_CHARS)
        if not value:
            raise self.wrong(key, f"text of 1 to {MAX_SYMBOL_CHARS} characters")
        return value

    def currency(self, key: str) -> str:
        """A currency of three capital letters."""
        value = self.text(key)
        if not is_currency(value):
            raise self.wrong(key, "a currency of three capital letters")
        return value

    def number(self, key: str, *, low: int | None = None) -> Exact:
        """A finite number as decimal text or JSON number, at least `low`."""
        accepted = 'a number, as text like "12.50"' + ("" if low is None else f", at least {low}")
        found = self.raw(key)
        try:
            value = read_number(found)
        except ValueError as error:
            raise self.wrong(key, accepted) from error
        if low is not None and value < low:
            raise self.wrong(key, accepted)
        return value

    def price(self, key: str) -> Exact | None:
        """A price or rate that may be unknown: absent, null, `NaN` or infinite."""
        value = self._values.get(key)
        if value is None or (isinstance(value, str) and value.strip("+-").lower() in {"nan", "inf", "infinity"}):
            return None
        return self.number(key)

    def whole(self, key: str) -> int:
        """A whole number, at least 0."""
        value = self.raw(key)
        if not isinstance(value, NumberText) or not value.isdigit() or len(value) > MAX_NUMBER_CHARS:
            raise self.wrong(key, "a whole number, at least 0")
        return int(value)

    def flag(self, key: str) -> bool:
        """`true` or `false`."""
        value = self.raw(key)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def time(self, key: str) -> str:
        """A time with its offset, as canonical text."""
        text = self.text(key)
        try:
            return to_text(datetime.fromisoformat(text))
        except ValueError as error:
            raise self.wrong(key, 'a time with its offset, like "2022-10-03T14:30:00Z"') from error

    def rows(self, key: str, most: int) -> list[tuple[str, object]]:
        """The elements of a list of at most `most`, each with where it stands."""
        value = self.raw(key)
        if not isinstance(value, list) or len(value) > most:
            raise self.wrong(key, f"a list of at most {most} rows")
        return [(f"{self.where}.{key}[{index}]", row) for index, row in enumerate(value)]

    def table(self, key: str) -> list[tuple[str, str, object]]:
        """The entries of an object whose keys are names: (name, where, value)."""
        value = self.raw(key)
        if not isinstance(value, dict):
            raise self.wrong(key, "an object")
        return [(name, f"{self.where}.{key}.{name[:_SHOWN_CHARS]}", entry) for name, entry in value.items()]


def shown(value: object) -> str:
    """A value as the document has it, cut to what fits into a message."""
    text = str(value) if isinstance(value, NumberText) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
