"""Withdrawals, closed books, paused sources, baselines and adjustments in the fold; numbers worked out on paper."""

import pytest
from msgspec.structs import replace

from shared.ledger import approvals
from shared.ledger.hashing import hashed_book, state_hash
from shared.ledger.owed import owed
from shared.ledger.state import Holding
from shared.protocol.events import (
    AccountBaselined,
    AccountReconciled,
    AdjustmentBooked,
    ApprovalGiven,
    ApprovalRefused,
    BookClosed,
    CashDeposited,
    CashWithdrawn,
    ClockAdvanced,
    Decision,
    Difference,
    OrderClosed,
    ReconciliationFailed,
    Share,
    SourcePaused,
    SourceResumed,
    Verdict,
)
from shared.protocol.market import Side
from shared.protocol.money import Exact
from shared.protocol.reasons import OrderEnd
from tests.support.scribe import CLOSE, SLOT, Scribe


def desk(*books: str) -> Scribe:
    scribe = Scribe().open_desk(*(books or ("eq",)))
    scribe.clock("slot", SLOT, due=books or ("eq",))
    return scribe


def held(scribe: Scribe, book: str = "eq") -> str:
    """100 shares of AAA at 99.99 with a fee of 1: cash 0 of 10000; returns the run."""
    run = scribe.start_run(book)
    scribe.approve(run, ("AAA", Side.BUY, "100", "100"))
    scribe.fill(f"{run}-1", f"{book}.1", "AAA", Side.BUY, "100", "99.99")
    return run


def reconciled(scribe: Scribe, cash: str, run: str, **more: object) -> None:
    data = AccountReconciled("DU1", {"USD": Exact(cash)}, {"AAA:USD": Exact(100)}, (), **more)  # type: ignore[arg-type]
    scribe.write("executor", data, run, book="eq", run=run)


def test_a_top_up_at_20_percent_drawdown_leaves_it_at_20_percent() -> None:
    scribe = desk()
    run = held(scribe)
    scribe.value("eq", "8000", run=run)
    scribe.write("desk", CashDeposited(Exact(8000), "more"), "r1", book="eq")
    book = scribe.state.books["eq"]
    assert (book.value, book.peak, book.units) == (Exact(16000), Exact(20000), Exact(20000))


def test_a_withdrawal_leaves_drawdown_where_it_was_and_counts_against_what_was_put_in() -> None:
    scribe = desk()
    run = held(scribe)
    scribe.value("eq", "8000", run=run, previous="9000")
    scribe.write("desk", CashWithdrawn(Exact(2000), "rent"), "r1", book="eq")
    book = scribe.state.books["eq"]
    assert (book.value, book.peak, book.previous, book.units) == (Exact(6000), Exact(7500), Exact(6750), Exact(7500))
    assert (book.deposited, book.withdrawn, book.net_deposits) == (Exact(10000), Exact(2000), Exact(8000))


def test_a_closed_book_has_nothing_and_is_not_valued_any_more() -> None:
    scribe = desk("eq", "mo")
    scribe.write("desk", BookClosed(Exact(10000), "done"), "r1", book="eq")
    book = scribe.state.books["eq"]
    assert (book.cash, book.units, book.peak, book.closed, book.net_deposits) == (*[Exact(0)] * 3, True, Exact(0))
    scribe.state = replace(scribe.state, runs={})
    scribe.clock("close", CLOSE)
    assert {item.about for item in owed(scribe.state)} == {"_desk-20221003T200000Z"}


def test_a_book_of_the_arguments_that_was_emptied_is_not_funded_again() -> None:
    scribe = desk()
    scribe.write("desk", CashWithdrawn(Exact(10000), "all of it"), "r1", book="eq")
    assert not any(item.author == "desk" for item in owed(scribe.state))


def test_a_paused_source_is_part_of_the_state_and_a_resumed_one_leaves_no_trace() -> None:
    scribe = desk()
    before = state_hash(scribe.state)
    scribe.write("desk", SourcePaused("holidays"), "r1", book="eq")
    assert hashed_book(scribe.state.books["eq"])["paused"] == "holidays"
    scribe.write("desk", SourceResumed("back"), "r2", book="eq")
    assert state_hash(scribe.state) == before


def test_cash_that_nothing_explains_is_kept_apart_from_what_the_log_explains() -> None:
    scribe = desk()
    run = scribe.start_run("eq")
    reconciled(scribe, "1000012", run, unattributed={"USD": Exact(12)})
    account = scribe.state.account
    assert (account.cash, account.found) == ({"USD": Exact(1000000)}, {"USD": Exact(1000012)})


def test_an_adopted_dividend_explains_the_cash_and_goes_to_the_books_as_profit() -> None:
    scribe = desk()
    run = held(scribe)
    reconciled(scribe, "1000012", run, unattributed={"USD": Exact(12)})
    part = Share("eq", Exact(12))
    scribe.write("desk", AdjustmentBooked("dividend", "USD", Exact(12), "paid", "AAA", None, (part,)), "r1")
    account, book = scribe.state.account, scribe.state.books["eq"]
    assert (account.cash, account.unattributed) == ({"USD": Exact(1000012)}, {})
    assert (book.cash, book.peak, book.deposited) == (Exact(12), Exact(10000), Exact(10000))


def test_an_adopted_fee_counts_as_a_fee_of_the_book() -> None:
    scribe = desk()
    scribe.write("desk", AdjustmentBooked("fee", "USD", Exact(-7), "data", shares=(Share("eq", Exact(-7)),)), "r1")
    assert (scribe.state.books["eq"].cash, scribe.state.books["eq"].fees) == (Exact(9993), Exact(7))


def test_adopted_shares_of_a_book_change_its_holding_and_those_of_none_the_baseline() -> None:
    scribe = desk()
    run = held(scribe)
    reconciled(scribe, "1000000", run)
    part = Share("eq", Exact(1000), Exact(-10), Exact(-1000))
    scribe.write("desk", AdjustmentBooked("position", "USD", Exact(1000), "sold by hand", "AAA", Exact(-10), (part,)), "r1")
    assert scribe.state.books["eq"].holdings == {"AAA:USD": Holding(Exact(90), Exact(9000))}
    assert scribe.state.account.cash == {"USD": Exact(1001000)}
    scribe.write("desk", AdjustmentBooked("position", "USD", Exact(0), "mine", "AAA", Exact(5)), "r2")
    assert scribe.state.account.baseline == {"AAA:USD": Exact(5)}


def test_a_baseline_says_what_belongs_to_no_book_and_where_cash_starts() -> None:
    scribe = desk()
    scribe.write("desk", AccountBaselined("DU1", {"OLD:USD": Exact(3)}, {"USD": Exact(500)}, "first look"), "r1")
    assert (scribe.state.account.baseline, scribe.state.account.cash) == ({"OLD:USD": Exact(3)}, {"USD": Exact(500)})


def test_the_brokers_positions_follow_fills_and_are_unknown_after_a_question_without_an_answer() -> None:
    scribe = desk()
    run = scribe.start_run("eq")
    scribe.approve(run, ("AAA", Side.BUY, "100", "100"))
    reconciled(scribe, "1000000", run)
    scribe.fill(f"{run}-1", "1.1", "AAA", Side.BUY, "100", "99.99")
    assert scribe.state.account.positions == {"AAA:USD": Exact(200)}
    scribe.write("executor", ReconciliationFailed("DU1", (Difference("positions", "a complete answer", None),)), "_desk-x")
    after = scribe.state.account
    assert after.positions is None
    assert after.failed


def test_only_a_final_failure_ends_the_desk() -> None:
    scribe = desk()
    lines = (Difference("position AAA:USD", "1", "0"),)
    scribe.write("executor", ReconciliationFailed("DU1", lines), "_desk-x")
    assert (scribe.state.problem, scribe.state.account.differences) == (None, lines)
    assert owed(scribe.state)
    scribe.write("executor", ReconciliationFailed("DU1", lines, final=True), "_desk-x", k=2)
    assert scribe.state.problem == "position AAA:USD: expected 1, found 0"
    assert owed(scribe.state) == ()


def test_a_difference_that_an_order_explained_is_looked_at_again_when_the_order_ended() -> None:
    scribe = desk("eq", "mo")
    run = scribe.start_run("eq")
    (order,) = scribe.approve(run, ("AAA", Side.BUY, "100", "100"))
    other = scribe.start_run("mo")
    data = AccountReconciled("DU1", {}, {"AAA:USD": Exact(100)}, (order,), pending=(order,))
    scribe.write("executor", data, other, book="mo", run=other)
    assert not any(item.about == order and item.type == "AccountReconciled" for item in owed(scribe.state))
    scribe.write("executor", OrderClosed(order, OrderEnd.EXPIRED, Exact(0), ""), order, book="eq", run=run)
    first = owed(scribe.state)[0]
    assert (first.author, first.type, first.about, first.run) == ("executor", "AccountReconciled", order, None)
    scribe.write("executor", AccountReconciled("DU1", {}, {}, ()), order)
    assert not any(item.about == order for item in owed(scribe.state))


def needing_approval(scribe: Scribe) -> str:
    run = scribe.start_run("eq")
    row = Decision(1, "AAA", "USD", "BUY", Exact(5), Exact(10), False, True, Exact(50), Exact(1), Exact(1), (), None)
    scribe.write("gate", Verdict("proposal", (row,), (), None, None, "p", "1", (), SLOT), run, book="eq", run=run)
    return f"{run}-1"


def test_an_order_that_needs_approval_waits_until_it_is_given_or_refused_or_too_old() -> None:
    scribe = desk()
    order = needing_approval(scribe)
    assert [row.order for row in approvals.waiting(scribe.state)] == [order]
    given = scribe.write("desk", ApprovalGiven(order, "fine"), "r1")
    assert approvals.waiting(scribe.state) == ()
    assert scribe.state.approvals[order].given == given
    scribe.write("desk", ApprovalRefused(order, "no"), "r2")
    assert scribe.state.approvals == {}


@pytest.mark.parametrize(("to", "waits"), [("2022-10-03T15:30:00.000000Z", True), ("2022-10-03T15:30:00.000001Z", False)])
def test_an_approval_can_be_given_for_exactly_an_hour(to: str, waits: bool) -> None:
    scribe = desk()
    needing_approval(scribe)
    scribe.write("desk", ClockAdvanced(to, "watch", "2022-10-03"), "_desk-y")
    assert bool(approvals.waiting(scribe.state)) is waits
