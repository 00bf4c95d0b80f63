"""The envelope: ids, subjects and who may write what."""

import pytest

from shared.protocol.envelope import Draft, EnvelopeError, clean_text, read_event, seal, sha256_hex
from shared.protocol.events import MAX_EVENT_BYTES, CancelOrdered, RunEnded, SourceFailed
from shared.protocol.ids import IdError, check_book, order_id, parse_subject, run_id, run_of
from shared.protocol.reasons import RunStatus, SourceFault

AT = "2022-10-03T14:30:00.000000Z"
CANCEL = Draft("desk", "_desk", "request-1", AT, 7, CancelOrdered("20221003T1030-eq-1-1", "test"))


def sealed(draft: Draft = CANCEL) -> bytes:
    return seal(draft, desk="d", instance="1-a", n=1, prev=None)


def test_an_id_is_author_type_about_and_the_count_of_its_kind() -> None:
    assert CANCEL.id == "desk:CancelOrdered:request-1"
    assert Draft("executor", "eq", "r", AT, 7, RunEnded(RunStatus.OK, ""), k=2).id == "executor:RunEnded:r:2"
    assert CANCEL.subject == "ev.desk._desk.CancelOrdered"


def test_run_and_order_ids_hold_slot_book_attempt_and_index() -> None:
    run = run_id("2022-10-03", "10:30", "equal_weight", "1")
    assert run == "20221003T1030-equal_weight-1"
    assert order_id(run, 99) == f"{run}-99"
    assert len(order_id(run, 99)) <= 32
    assert run_of(order_id(run, 7)) == run


@pytest.mark.parametrize("index", [0, 100])
def test_an_order_beyond_ninety_nine_has_no_id(index: int) -> None:
    with pytest.raises(IdError):
        order_id("20221003T1030-eq-1", index)


@pytest.mark.parametrize("name", ["", "A", "1a", "a-b", "a.b", "a" * 13, "_desk", "a b", "ä"])
def test_a_book_name_outside_the_rule_is_refused(name: str) -> None:
    with pytest.raises(IdError):
        check_book(name)


@pytest.mark.parametrize(
    "text", ["ev.gate.b", "ev.nobody.b.Verdict", "xx.gate.b.Verdict", "ev.gate..Verdict", "ev.gate.b.Verdict.x"]
)
def test_a_foreign_subject_is_refused(text: str) -> None:
    with pytest.raises(IdError):
        parse_subject(text)


def test_the_same_event_has_the_same_bytes() -> None:
    assert sealed() == sealed()
    assert read_event(1, CANCEL.subject, sealed()).sha256 == sha256_hex(sealed())


@pytest.mark.parametrize(
    "subject",
    ["ev.gate._desk.CancelOrdered", "ev.desk.eq.CancelOrdered", "ev.desk._desk.HaltReset", "ev.agent._desk.CancelOrdered"],
)
def test_an_event_under_a_subject_that_is_not_its_own_is_refused(subject: str) -> None:
    with pytest.raises(EnvelopeError, match="does not belong"):
        read_event(1, subject, sealed())


def test_an_author_may_only_write_its_own_types() -> None:
    draft = Draft("gate", "_desk", "request-1", AT, 7, CancelOrdered("o", "r"))
    with pytest.raises(EnvelopeError, match="gate may not write CancelOrdered"):
        read_event(1, draft.subject, sealed(draft))


@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"version":1', b'"version":2'), (b'"reason":"test"', b'"reason":"test","more":1'), (b'"sig":null', b'"sig":null,"z":1')],
)
def test_an_unknown_version_or_field_is_refused(old: bytes, new: bytes) -> None:
    with pytest.raises(EnvelopeError):
        _ = read_event(1, CANCEL.subject, sealed().replace(old, new)).data


def test_an_event_that_is_too_large_is_not_made() -> None:
    draft = Draft("agent", "eq", "r", AT, 7, SourceFailed(SourceFault.CRASHED, "x" * MAX_EVENT_BYTES))
    with pytest.raises(EnvelopeError, match="more than the 65536"):
        sealed(draft)


def test_foreign_text_is_composed_bounded_and_free_of_control_characters() -> None:
    assert clean_text("e\u0301\x00\x1b[31m\nx", 20) == "\u00e9[31m\nx"
    assert clean_text("abc", 2) == "ab"
