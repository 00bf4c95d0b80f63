"""The folded state as bytes and back."""

import pytest

from shared.ledger.fold import apply
from shared.ledger.hashing import state_hash
from shared.ledger.owed import owed
from shared.ledger.packing import pack, unpack
from shared.ledger.state import State
from shared.protocol.envelope import EnvelopeError, Event, read_event
from tests.support.long_log import LongLog

SESSIONS = 2


def events() -> list[Event]:
    """Two sessions of three books, with everything that a run goes through."""
    log = LongLog()
    log.open_desk()
    for index in range(SESSIONS):
        log.session(index)
    return [read_event(message.seq, message.subject, message.payload) for message in log.take()]


def test_at_every_event_of_two_sessions_the_state_survives_and_owes_the_same() -> None:
    state = kept = State()
    for event in events():
        state, kept = apply(state, event), apply(unpack(pack(kept)), event)
        assert pack(kept) == pack(state)
        assert state_hash(kept) == state_hash(state)
        assert owed(kept) == owed(state)


def test_open_runs_keep_the_order_in_which_they_stand() -> None:
    state = State()
    for event in events():
        state = apply(state, event)
    first, second, third = state.books
    turned = State(books={third: state.books[third], first: state.books[first], second: state.books[second]})
    assert list(unpack(pack(turned)).books) == [third, first, second]


@pytest.mark.parametrize("packed", [b"", b"{", b"[]", b'{"seq":"1"}', b'{"books":{"a":{"name":"a"}}}', b'{"args":1}'])
def test_anything_else_is_refused(packed: bytes) -> None:
    with pytest.raises(EnvelopeError):
        unpack(packed)
