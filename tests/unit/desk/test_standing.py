"""What `status` says beside the books, from the folded state through the read models' summary to words."""

from pathlib import Path

import pytest

from services.desk.layout import Layout
from services.desk.policy_file import PolicyFile, advice, compared, remember, remembered
from services.desk.standing import PolicyInForce, Standing, _standing, lines
from services.journal.summary import as_text, from_text, summary
from shared.protocol.events import (
    AccountBaselined,
    AccountReconciled,
    BookClosed,
    Difference,
    HaltOrdered,
    PolicyAdopted,
    ReconciliationFailed,
    SourcePaused,
)
from shared.protocol.money import Exact
from tests.support.scribe import SLOT, Scribe

LAYOUT = Layout(Path(".propdesk"))
POLICY = '[policy]\nbase_currency = "USD"\n[policy.limits]\nmonth_timezone = "America/New_York"\n'
FEES = '[[policy.commission]]\ncurrency = "USD"\nper_share = "0.005"\nminimum = "1"\nmaximum_pct = "1"\n'


def desk() -> Scribe:
    scribe = Scribe().open_desk("eq", "mo")
    scribe.clock("slot", SLOT, due=("eq", "mo"))
    return scribe


def said(scribe: Scribe) -> list[str]:
    found = summary(scribe.state)
    assert from_text(as_text(found)) == found
    return lines(_standing(found, None), LAYOUT)


def test_a_desk_in_order_has_nothing_to_say() -> None:
    assert said(desk()) == []


def test_halts_pauses_and_closed_books_are_named_with_their_reasons() -> None:
    scribe = desk()
    scribe.write("desk", HaltOrdered("_desk", "full", False, "stop"), "h1")
    scribe.write("desk", HaltOrdered("eq", "reduce_only", True, "less"), "h2", book="eq")
    scribe.write("desk", SourcePaused("holidays"), "p1", book="eq")
    scribe.write("desk", BookClosed(Exact(10000), "over"), "c1", book="mo")
    assert said(scribe) == [
        "halted: full halt of the whole desk (ordered): stop",
        "halted: reduce-only halt of eq (ordered), what is held is to be sold: less",
        "paused: the source of eq is not asked: holidays",
        "closed: the book mo",
    ]


def test_an_account_that_differs_is_said_line_by_line_with_what_is_open() -> None:
    scribe = desk()
    rows = (Difference("position AAA:USD", "10", "9"), Difference("orders", "a complete answer", None))
    scribe.write("executor", ReconciliationFailed("DU1", rows, {"AUD": Exact(-3)}, {}), "_desk-x")
    found = said(scribe)
    assert "did not agree" in found[0]
    assert "buying is blocked, selling is not" in found[0]
    assert found[1:] == [
        "  position AAA:USD: expected 10, found 9",
        "  orders: expected a complete answer, found unknown",
        "borrowed: the account owes 3 AUD",
    ]


def test_cash_in_no_book_and_what_is_pending_are_said() -> None:
    scribe = desk()
    scribe.write("executor", AccountReconciled("DU1", {}, {}, (), {"USD": Exact(12)}, {}, ("o-1",)), "_desk-x")
    assert said(scribe)[1:] == [
        "unattributed cash: 12 USD is in no book (propdesk adopt --dividend, --interest or --fee)",
        "pending: a difference that o-1 explains is looked at again when it ends",
    ]


def test_what_was_adopted_since_the_last_look_is_said_until_the_next_one() -> None:
    scribe = desk()
    failed = ReconciliationFailed("DU1", (Difference("position AAA:USD", "0", "3"),), {}, {"AAA:USD": Exact(3)})
    scribe.write("executor", failed, "_desk-x")
    scribe.write("desk", AccountBaselined("DU1", {"AAA:USD": Exact(3)}, {}, "mine"), "r1")
    assert said(scribe)[1].startswith("something was adopted since")
    scribe.write("executor", AccountReconciled("DU1", {}, {"AAA:USD": Exact(3)}, ()), "_desk-y")
    assert len(said(scribe)) == 1


def adopted(scribe: Scribe) -> PolicyAdopted:
    assert scribe.state.policy is not None
    return scribe.state.policy


@pytest.mark.parametrize(
    ("text", "differs"),
    [(POLICY + FEES, True), (POLICY.replace("New_York", "Chicago") + FEES, True), ("nonsense", True)],
)
def test_a_file_that_is_not_the_policy_in_force_is_said_with_the_command(tmp_path: Path, text: str, differs: bool) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(text)
    found = compared(file, adopted(desk()))
    assert found.differs is differs
    told = advice(found)
    assert told is not None
    assert ("propdesk policy adopt" in told) == (found.problem is None)
    assert ("does nothing" in told) or ("it does nothing" in told)


def test_a_file_that_says_what_is_in_force_needs_no_word() -> None:
    assert advice(PolicyFile("p.toml", "a" * 64, differs=False)) is None


def test_the_policy_is_named_with_its_hash_and_place() -> None:
    policy = PolicyInForce(7, "a" * 64, SLOT, "tighter", PolicyFile("p.toml", "b" * 64, differs=True))
    found = lines(Standing(policy=policy), Layout(Path("elsewhere")))
    assert found[0] == f"policy {'a' * 16} in force since sequence 7: tighter"
    assert "policy diff p.toml --dir elsewhere" in found[1]


def test_the_file_of_a_run_is_remembered_and_a_broken_note_is_none(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    assert remembered(layout) is None
    remember(layout, tmp_path / "policy.toml")
    assert remembered(layout) == tmp_path / "policy.toml"
    (tmp_path / "policy-file.json").write_text("[1")
    assert remembered(layout) is None
