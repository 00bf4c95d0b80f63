"""Places of the log whose state the journal hashes, and what happens when hashes differ."""

import pytest

from services.journal.hashes import next_draft
from shared.ledger.fold import apply
from shared.ledger.hashing import state_hash
from shared.ledger.marks import HASH_EVERY, KEPT_CLAIMS, MAX_MARKS, MOST_CLAIMS
from shared.ledger.owed import is_quiet, owed
from shared.ledger.state import State
from shared.protocol.events import CancelOrdered, HaltOrdered, MarketObserved, StateHashed
from shared.protocol.ids import DESK_BOOK
from tests.support.scribe import CLOSE, SESSION, Scribe

WRONG = "0" * 64


def closed(*books: str) -> Scribe:
    """A close step with everything but its hashes."""
    scribe = Scribe().open_desk(*books)
    scribe.clock("close", CLOSE)
    scribe.write("executor", MarketObserved("watch", (), {}, {}, {}), "_desk-20221003T200000Z")
    for book in books:
        scribe.value(book, "10000")
    return scribe


def pad(scribe: Scribe, upto: int) -> None:
    """Events that change nothing in the books, up to a sequence."""
    while scribe.state.seq < upto:
        scribe.write("desk", CancelOrdered("none", "padding"), f"r{scribe.state.seq}")


def journal_writes(scribe: Scribe) -> StateHashed | HaltOrdered:
    """Append what the journal owes next."""
    draft = next_draft(scribe.state)
    assert draft is not None
    event = scribe.write("journal", draft.data, draft.about)
    assert event.id == draft.id
    data = event.data
    assert isinstance(data, StateHashed | HaltOrdered)
    return data


def test_the_journal_hashes_a_close_step_behind_its_last_valuation_whatever_comes_before_it_gets_to_it() -> None:
    scribe = closed("eq", "mo")
    found = state_hash(scribe.state)
    for author in ("gate", "executor"):
        assert next_draft(scribe.state) is None
        scribe.write(author, StateHashed(SESSION, found), SESSION)
    scribe.clock("slot", "2022-10-04T14:30:00.000000Z", ("eq",), session="2022-10-04")
    scribe.write("desk", HaltOrdered("eq", "full", False, "later"), "r1")
    draft = next_draft(scribe.state)
    assert draft is not None
    assert (draft.id, draft.at, draft.book) == (f"journal:StateHashed:{SESSION}", CLOSE, DESK_BOOK)
    assert draft.data == StateHashed(SESSION, found)
    assert draft.cause == "desk:ClockAdvanced:_desk-20221003T200000Z"
    assert found != state_hash(scribe.state)
    journal_writes(scribe)
    assert next_draft(scribe.state) is None


def test_every_thousandth_sequence_is_hashed_once_with_the_state_behind_it() -> None:
    scribe = Scribe().open_desk("eq")
    pad(scribe, HASH_EVERY - 1)
    assert next_draft(scribe.state) is None
    pad(scribe, HASH_EVERY)
    found = state_hash(scribe.state)
    scribe.write("desk", HaltOrdered("eq", "full", False, "later"), "r1")
    assert is_quiet(owed(scribe.state))
    assert journal_writes(scribe) == StateHashed(SESSION, found, 1000)
    assert scribe.events[-1].id == "journal:StateHashed:1000"
    assert next_draft(scribe.state) is None


def test_a_thousandth_message_that_is_no_event_counts_as_the_state_before_the_next_one() -> None:
    scribe = Scribe().open_desk("eq")
    pad(scribe, HASH_EVERY - 1)
    found = state_hash(scribe.state)
    other = Scribe()
    other.state = State(seq=HASH_EVERY)
    late = other.write("desk", HaltOrdered("eq", "full", False, "later"), "r1")
    assert late.seq == HASH_EVERY + 1
    scribe.state = apply(scribe.state, late)
    (mark,) = scribe.state.marks
    assert (mark.about, mark.seq, state_hash(mark)) == ("1000", 1000, found)


@pytest.mark.parametrize("behind", [0, 1, 7, 40, 5000])
@pytest.mark.parametrize(("others", "hashes"), [(1998, 1), (1999, 2), (2000, 2)])
def test_how_many_hashes_stand_at_the_end_does_not_depend_on_when_the_journal_gets_to_them(
    others: int, hashes: int, behind: int
) -> None:
    """With 1,999 other events the hash about 1000 makes the log 2,000 long, so that a second one is owed."""
    scribe = Scribe().open_desk("eq")
    written = 0
    for number in range(others - scribe.state.seq):
        pad(scribe, scribe.state.seq + 1)
        while len(scribe.state.marks) and number % (behind + 1) == 0:
            journal_writes(scribe)
            written += 1
    while next_draft(scribe.state) is not None:
        journal_writes(scribe)
        written += 1
    assert (written, scribe.state.seq) == (hashes, others + hashes)


def test_a_hash_of_another_state_orders_a_full_halt_of_the_desk_that_names_both_once() -> None:
    scribe = closed("eq")
    right = state_hash(scribe.state)
    scribe.write("gate", StateHashed(SESSION, right), SESSION)
    scribe.write("executor", StateHashed(SESSION, WRONG), SESSION)
    assert not is_quiet(owed(scribe.state))
    assert journal_writes(scribe) == StateHashed(SESSION, right)
    halt = journal_writes(scribe)
    assert isinstance(halt, HaltOrdered)
    assert (halt.scope, halt.kind, halt.liquidate) == (DESK_BOOK, "full", False)
    for said in (f"executor {WRONG}", f"gate {right}", f"journal {right}", SESSION):
        assert said in halt.reason
    assert scribe.events[-1].id == f"journal:HaltOrdered:{SESSION}"
    assert scribe.state.halts[DESK_BOOK].kind == "full"
    assert owed(scribe.state) == ()
    scribe.write("executor", StateHashed(SESSION, "1" * 64), SESSION, k=2)
    assert owed(scribe.state) == ()


def test_a_journal_that_differs_from_two_others_that_agree_halts_too() -> None:
    scribe = closed("eq")
    for author in ("gate", "executor"):
        scribe.write(author, StateHashed(SESSION, WRONG), SESSION)
    assert is_quiet(owed(scribe.state))
    assert journal_writes(scribe) == StateHashed(SESSION, state_hash(scribe.state))
    assert isinstance(journal_writes(scribe), HaltOrdered)
    assert next_draft(scribe.state) is None


def test_a_forged_hash_about_a_sequence_is_compared_when_the_journal_gets_there_and_later() -> None:
    scribe = Scribe().open_desk("eq")
    scribe.write("executor", StateHashed(SESSION, WRONG, 1000), "1000")
    pad(scribe, HASH_EVERY)
    assert isinstance(journal_writes(scribe), StateHashed)
    assert isinstance(journal_writes(scribe), HaltOrdered)
    pad(scribe, 2 * HASH_EVERY)
    assert isinstance(journal_writes(scribe), StateHashed)
    assert next_draft(scribe.state) is None
    scribe.write("gate", StateHashed(SESSION, WRONG, 2000), "2000")
    assert isinstance(journal_writes(scribe), HaltOrdered)


def test_a_hash_of_another_session_does_not_end_the_close_step() -> None:
    scribe = closed("eq")
    scribe.write("executor", StateHashed("2022-09-30", "0" * 64), "2022-09-30")
    scribe.write("gate", StateHashed(SESSION, "0" * 64, 5), "5")
    assert [(item.author, item.type) for item in owed(scribe.state)] == [("gate", "StateHashed"), ("executor", "StateHashed")]


def test_a_halt_ordered_by_others_leaves_the_difference_to_the_journal() -> None:
    scribe = closed("eq")
    scribe.write("gate", StateHashed(SESSION, "1" * 64), SESSION)
    scribe.write("executor", StateHashed(SESSION, "2" * 64), SESSION)
    scribe.write("executor", HaltOrdered(DESK_BOOK, "full", False, "of its own"), SESSION)
    assert ("journal", "HaltOrdered") in [(item.author, item.type) for item in owed(scribe.state)]


def test_without_a_journal_marks_and_claims_stay_bounded() -> None:
    scribe = Scribe().open_desk("eq")
    for number in range(MAX_MARKS + 5):
        day = f"{2030 + number // 300}-{number // 25 % 12 + 1:02d}-{number % 25 + 1:02d}"
        scribe.clock("close", f"{day}T20:00:00.000000Z", session=day)
        scribe.write("executor", MarketObserved("watch", (), {}, {}, {}), f"_desk-{day}")
        scribe.value("eq", "10000")
        scribe.write("gate", StateHashed(day, str(number)), day)
    assert len(scribe.state.marks) == MAX_MARKS
    assert KEPT_CLAIMS <= len(scribe.state.claims) <= MOST_CLAIMS
    assert [(item.author, item.type) for item in owed(scribe.state)] == [
        ("executor", "StateHashed"),
        ("journal", "StateHashed"),
    ]
