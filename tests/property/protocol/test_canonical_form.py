"""Every event survives the way into its canonical JSON and back, and nothing that is not canonical is read."""

import json
import types
import unicodedata
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.protocol.envelope import Draft, EnvelopeError, canonical, decode, read_event, seal
from shared.protocol.events import AUTHORS_OF, EVENT_TYPES
from shared.protocol.instants import parse, to_text
from shared.protocol.money import CANONICAL_NUMBER, Exact

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs"]), max_size=8).map(lambda s: unicodedata.normalize("NFC", s))
NUMBERS = st.decimals(min_value=-(10**15), max_value=10**15, places=9, allow_nan=False).map(Exact)
TIMES = st.datetimes(timezones=st.just(__import__("datetime").UTC)).map(to_text)
DAYS = st.dates().map(lambda day: day.isoformat())


def strategy(kind: Any) -> st.SearchStrategy[Any]:
    """Values of an event field's type."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return TIMES if kind.__metadata__[0].max_length == 27 else DAYS
    if origin is tuple:
        return st.lists(strategy(args[0]), max_size=2).map(tuple)
    if origin is dict:
        return st.dictionaries(TEXT, strategy(args[1]), max_size=2)
    if origin in (Union, types.UnionType):
        return st.one_of([st.none() if arg is type(None) else strategy(arg) for arg in args])
    if kind is Exact:
        return NUMBERS
    if issubclass(kind, Enum):
        return st.sampled_from(list(kind))
    if issubclass(kind, msgspec.Struct):
        hints = get_type_hints(kind, include_extras=True)
        return st.builds(kind, **{name: strategy(hints[name]) for name in kind.__struct_fields__})
    return {str: TEXT, int: st.integers(-(2**40), 2**40), bool: st.booleans()}[kind]


@pytest.mark.parametrize("name", sorted(EVENT_TYPES))
@given(data=st.data())
def test_an_event_comes_back_equal_and_is_written_in_canonical_form(name: str, data: st.DataObject) -> None:
    facts = data.draw(strategy(EVENT_TYPES[name]))
    author = AUTHORS_OF[name][0]
    draft = Draft(author, "_desk", "x", "2022-10-03T14:30:00.000000Z", 3, facts)
    payload = seal(draft, desk="d", instance="1-a", n=1, prev=None)

    event = read_event(4, draft.subject, payload)

    assert event.data == facts
    assert canonical(event.data) == bytes(event.envelope.data)
    assert payload == json.dumps(json.loads(payload), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=Decimal("-1e29"), max_value=Decimal("1e29"), places=15))
def test_a_number_keeps_its_value_and_gets_the_one_spelling(number: Decimal) -> None:
    exact = Exact(number)
    assert exact == number
    assert CANONICAL_NUMBER.fullmatch(str(exact))
    assert Exact.read(str(exact)) == number
    assert canonical(exact) == f'"{exact}"'.encode()


@given(st.text(max_size=12))
def test_text_is_read_as_a_number_only_in_canonical_form(text: str) -> None:
    if CANONICAL_NUMBER.fullmatch(text):
        assert str(Exact.read(text)) == text
    else:
        with pytest.raises(EnvelopeError):
            decode(Exact, json.dumps(text).encode())


@given(TIMES)
def test_a_time_keeps_its_text(text: str) -> None:
    assert to_text(parse(text)) == text
