"""Old versions of an event: read as the newest one would be, hashed as they are stored. The old version here is invented."""

import msgspec
import pytest

from shared.ledger.fold import apply
from shared.ledger.hashing import state_hash
from shared.protocol.envelope import EnvelopeError, Event, canonical, read_event, sha256_hex
from shared.protocol.events import FillSettled
from shared.protocol.market import Side
from shared.protocol.money import Exact, Money
from shared.protocol.upcast import UPCASTS, Fields, UpcastError, Upcasts, upcast
from tests.support.scribe import SLOT, Scribe

SUBJECT = "ev.executor.eq.FillSettled"


def fee_as_money(fields: Fields) -> Fields:
    """In version 0 the fee was an amount in the instrument's currency."""
    return {**fields, "fee": {"amount": fields["fee"], "currency": fields["currency"]}}


OLD: Upcasts = {("FillSettled", 0): fee_as_money}


def traded() -> Scribe:
    """A desk with one fill."""
    scribe = Scribe().open_desk("eq")
    scribe.clock("slot", SLOT, ("eq",))
    run = scribe.start_run("eq")
    (order,) = scribe.approve(run, ("AAA", Side.BUY, "10", "100"))
    scribe.fill(order, "0001.1", "AAA", Side.BUY, "10", "99.5", fee="1.25")
    return scribe


def as_version_0(event: Event) -> bytes:
    """The stored bytes that the build of version 0 would have written."""
    fields = msgspec.json.decode(event.payload)
    fields["data"]["fee"] = fields["data"]["fee"]["amount"]
    return canonical({**fields, "version": 0})


def test_data_of_an_old_version_is_that_of_the_newest_and_the_stored_bytes_stay() -> None:
    new = traded().events[-1]
    payload = as_version_0(new)
    assert b'"fee":"1.25"' in payload

    old = read_event(new.seq, SUBJECT, payload, OLD)

    assert old.data == new.data
    assert old.expect(FillSettled).fee == Money(Exact("1.25"), "USD")
    assert bytes(old.envelope.data) == bytes(new.envelope.data)
    assert (old.payload, old.sha256) == (payload, sha256_hex(payload))


def test_a_log_with_an_old_event_folds_to_the_same_state() -> None:
    scribe = traded()
    state = Scribe().state
    for event in scribe.events:
        old = event.type == "FillSettled"
        payload, subject = as_version_0(event) if old else event.payload, f"ev.{event.author}.{event.book}.{event.type}"
        state = apply(state, read_event(event.seq, subject, payload, OLD))
    assert state_hash(state) == state_hash(scribe.state)


def test_without_a_way_a_version_is_refused_by_name() -> None:
    new = traded().events[-1]
    with pytest.raises(EnvelopeError, match="sequence 8: FillSettled has version 0, and there is no way from version 0 to 1"):
        read_event(new.seq, SUBJECT, as_version_0(new))
    newer = new.payload.replace(b'"version":1', b'"version":2')
    with pytest.raises(EnvelopeError, match="FillSettled has version 2, this build knows up to 1: use a newer one"):
        read_event(new.seq, SUBJECT, newer, OLD)


@pytest.mark.parametrize("data", [b'{"fee":"1"}', b"[]", b'"x"', b"null"])
def test_data_that_does_not_fit_its_old_version_is_refused(data: bytes) -> None:
    with pytest.raises(UpcastError, match="FillSettled"):
        upcast("FillSettled", 0, msgspec.Raw(data), 1, OLD)


def test_versions_are_brought_up_one_after_another() -> None:
    steps: Upcasts = {
        ("T", 1): lambda fields: {**fields, "b": 2},
        ("T", 2): lambda fields: {"sum": [fields["a"], fields["b"]]},
        ("U", 2): lambda _: {},
    }
    assert upcast("T", 1, msgspec.Raw(b'{"a":1}'), 3, steps) == {"sum": [1, 2]}
    assert upcast("T", 2, msgspec.Raw(b'{"a":1,"b":5}'), 3, steps) == {"sum": [1, 5]}
    assert upcast("T", 3, msgspec.Raw(b'{"sum":[]}'), 3, steps) == {"sum": []}
    with pytest.raises(UpcastError, match="no way from version 0 to 1"):
        upcast("T", 0, msgspec.Raw(b"{}"), 3, steps)


def test_what_is_built_in_names_only_versions_that_are_no_longer_the_newest() -> None:
    from shared.protocol.events import VERSIONS

    assert [(kind, old) for kind, old in UPCASTS if old >= VERSIONS[kind]] == []
