"""Runs that the desk itself causes, and watch steps: what is owed, and in which order."""

import pytest
from msgspec.structs import replace

from shared.ledger.caused import caused_run
from shared.ledger.hashing import hashed_book
from shared.ledger.owed import is_quiet, owed
from shared.protocol.events import (
    AccountReconciled,
    ApprovalGiven,
    ApprovalRefused,
    FlattenOrdered,
    HaltReset,
    MarketObserved,
    PolicyAdopted,
    ProposalMade,
    RunEnded,
    RunStopped,
    Verdict,
)
from shared.protocol.market import ProposedOrder, Side
from shared.protocol.money import Exact
from shared.protocol.reasons import RunStatus, StopReason
from tests.support.scribe import CLOSE, POLICY, SLOT, decision
from tests.unit.ledger.protected import BUY, NEXT_DAY, NEXT_DAY_SLOT, SELL, WATCH, Protected, breach

K1 = "20221003T1030-eq-k1"
A1 = "20221003T1030-eq-a1"
SOON = "2022-10-03T14:40:00.000000Z"


def test_a_watch_step_owes_account_prices_values_trips_and_sales_one_after_another() -> None:
    scribe = Protected("eq", "mo")
    scribe.clock("watch", WATCH)
    desk, eq, mo = (f"{name}-20221003T150000Z" for name in ("_desk", "eq", "mo"))
    assert scribe.owes() == [("executor", "AccountReconciled", desk)]
    scribe.looked()
    assert scribe.owes() == [("gate", "BookValued", eq), ("gate", "BookValued", mo)]
    scribe.watched("7000", breach(2))
    assert scribe.owes() == [("gate", "BookValued", mo), ("gate", "HaltTripped", eq)]
    scribe.watched("10000", book="mo")
    assert scribe.owes() == [("gate", "HaltTripped", eq)]
    scribe.tripped()
    assert scribe.owes() == [("executor", "MarketObserved", "20221003T1100-eq-k1")]
    scribe.sold(1, minute="1100")
    assert scribe.owes() == [("executor", "RunSettled", "20221003T1100-eq-k1")]
    scribe.settled("20221003T1100-eq-k1")
    assert scribe.owes() == []


def test_a_liquidation_ends_with_its_settlement_and_counts_apart_from_the_other_runs() -> None:
    scribe = Protected()
    scribe.tripped()
    (order,) = scribe.sold(1, ("AAA", SELL, "10", "99"))
    assert scribe.owes() == [("executor", "OrderIntended", order)]
    scribe.placed(order, "done")
    assert scribe.owes() == [("executor", "OrderClosed", order)]
    scribe.closed(order, "10")
    assert scribe.owes() == [("executor", "RunSettled", K1)]
    before = scribe.book().digest
    scribe.settled(K1)
    book = scribe.book()
    assert (scribe.state.runs, book.runs, book.counts, book.digest) == ({}, (), {"liquidation": 1}, before)
    assert hashed_book(book)["caused"]


def test_only_one_caused_run_goes_on_at_a_time_as_each_is_capped_by_the_account() -> None:
    scribe = Protected("eq", "mo")
    scribe.fill("20220901T1030-mo-1-1", "old-mo", "AAA", BUY, "10", "100")
    scribe.tripped()
    scribe.tripped(book="mo")
    assert [about for _, _, about in scribe.owes()] == [K1, "20221003T1030-mo-k1"]
    (order,) = scribe.sold(1, ("AAA", SELL, "10", "99"))
    assert scribe.owes() == [("executor", "OrderIntended", order)]
    scribe.placed(order)  # it rests
    assert scribe.owes() == [("executor", "MarketObserved", "20221003T1030-mo-k1")]


def test_no_run_of_the_slot_starts_before_what_is_to_be_sold_is_at_the_broker() -> None:
    scribe = Protected("eq", "mo")
    scribe.tripped()
    scribe.clock("slot", NEXT_DAY_SLOT, due=("eq", "mo"), session=NEXT_DAY)
    k1 = "20221004T1030-eq-k1"
    assert scribe.owes() == [("executor", "MarketObserved", k1)]
    (order,) = scribe.sold(1, ("AAA", SELL, "10", "99"), day="20221004")
    assert ("agent", "RunStarted", "20221004T1030-eq-1") not in scribe.owes()
    scribe.placed(order)
    assert scribe.owes() == [("agent", "RunStarted", "20221004T1030-eq-1")]


def test_what_a_halt_stops_ends_before_anything_is_sold() -> None:
    scribe = Protected()
    (order,) = scribe.approve(scribe.start_run("eq"), ("AAA", SELL, "10", "99"))
    scribe.placed(order)
    scribe.tripped()
    assert scribe.owes() == [("executor", "OrderClosed", order)]
    scribe.closed(order)
    assert ("executor", "MarketObserved", K1) in scribe.owes()


def test_the_kill_switch_trips_inside_a_run_before_anything_else_of_it() -> None:
    scribe = Protected()
    run = scribe.start_run("eq")
    scribe.write("executor", AccountReconciled("DU1", {}, {}, ()), run, book="eq", run=run)
    scribe.write("executor", MarketObserved("run", (), {}, {}, {}), run, book="eq", run=run)
    scribe.watched("7000", breach(2), run=run)
    assert scribe.owes() == [("gate", "HaltTripped", run)]
    scribe.tripped(run=run)
    assert scribe.owes() == [("gate", "RunCleared", run), ("executor", "MarketObserved", K1)]


def test_nothing_is_sold_at_a_close_step_and_the_halt_stands_until_the_next_open() -> None:
    scribe = Protected()
    scribe.clock("close", CLOSE)
    scribe.write("executor", MarketObserved("watch", (), {}, {}, {}), "_desk-20221003T200000Z")
    scribe.watched("7000", breach(2))
    assert scribe.owes() == [("gate", "HaltTripped", "eq-20221003T200000Z")]
    scribe.tripped()
    assert [kind for _, kind, _ in scribe.owes()] == ["StateHashed", "StateHashed"]
    scribe.clock("slot", NEXT_DAY_SLOT, session=NEXT_DAY)
    assert scribe.owes() == [("executor", "MarketObserved", "20221004T1030-eq-k1")]


def test_an_attempt_in_which_nothing_could_be_sold_is_made_again_at_the_next_step() -> None:
    scribe = Protected()
    scribe.tripped()
    scribe.sold(1)
    scribe.settled(K1)
    assert scribe.owes() == []
    scribe.clock("watch", SOON)
    scribe.looked()
    scribe.watched("7000", breach(2))
    assert scribe.owes() == [("executor", "MarketObserved", "20221003T1040-eq-k1")]


@pytest.mark.parametrize(("shares", "begins"), [("10", False), ("9.5", False), ("9", True)])
def test_what_orders_at_work_sell_already_is_not_sold_again(shares: str, begins: bool) -> None:
    scribe = Protected()
    for order in scribe.approve(scribe.start_run("eq"), ("AAA", SELL, shares, "120"), ("BBB", SELL, "10", "120")):
        scribe.placed(order)
    scribe.ordered("reduce_only", liquidate=True)  # which leaves exits at work
    assert scribe.owes() == ([("executor", "MarketObserved", K1)] if begins else [])


def test_every_ended_caused_run_is_counted() -> None:
    scribe = Protected()
    scribe.tripped()
    digests = []
    for number in (1, 2):
        scribe.sold(number)
        scribe.settled(f"20221003T1030-eq-k{number}")
        digests.append(scribe.book().caused)
    assert (scribe.book().counts, len(set(digests))) == ({"liquidation": 2}, 2)


def test_two_attempts_that_send_are_at_least_watch_s_apart() -> None:
    scribe = Protected()
    scribe.tripped()
    (order,) = scribe.sold(1, ("AAA", SELL, "10", "99"))
    scribe.placed(order)
    scribe.closed(order)  # rejected or cancelled by the exchange: nothing was sold
    scribe.settled(K1)
    for at, tries in ((SOON, False), ("2022-10-03T14:45:00.000000Z", True)):  # 600 s and 900 s later
        scribe.clock("watch", at)
        scribe.looked()
        scribe.watched("7000", breach(2))
        assert [kind for _, kind, _ in scribe.owes()] == (["MarketObserved"] if tries else [])


def test_a_resting_exit_is_cancelled_when_the_next_attempt_may_begin_and_not_before() -> None:
    scribe = Protected()
    scribe.tripped()
    (order,) = scribe.sold(1, ("AAA", SELL, "10", "99"), ("BBB", SELL, "10", "99"))[:1]
    other = f"{K1}-2"
    for name in (order, other):
        scribe.placed(name)
    scribe.clock("watch", SOON)
    assert ("executor", "OrderClosed", order) not in scribe.owes()
    scribe.clock("watch", WATCH)
    assert scribe.owes()[:2] == [("executor", "OrderClosed", order), ("executor", "OrderClosed", other)]


def test_dust_counts_as_flat() -> None:
    scribe = Protected()
    for number, symbol in enumerate(("AAA", "BBB"), 1):
        scribe.fill(f"20220901T1030-eq-2-{number}", f"sold-{symbol}", symbol, SELL, "9.5", "100")
    scribe.tripped()
    assert (scribe.owes(), scribe.book().held("AAA:USD")) == ([], Exact("0.5"))


def test_after_the_ninth_of_a_minute_the_desk_waits_for_the_next_minute() -> None:
    scribe = Protected()
    scribe.tripped()
    for number in range(1, 10):
        scribe.sold(number)
        scribe.settled(f"20221003T1030-eq-k{number}")
    assert caused_run(scribe.state, "eq", "liquidation") is None
    scribe.ordered("full", liquidate=True)
    assert is_quiet(owed(scribe.state))
    scribe.clock("slot", NEXT_DAY_SLOT, session=NEXT_DAY)
    assert scribe.owes() == [("executor", "MarketObserved", "20221004T1030-eq-k1")]


def test_a_halt_with_liquidation_is_work_to_do_whatever_was_lost_in_memory() -> None:
    scribe = Protected()
    scribe.ordered("full", liquidate=True)
    assert scribe.owes() == [("executor", "MarketObserved", K1)]


def asking(scribe: Protected, count: int = 1, side: Side = BUY) -> list[str]:
    """A run whose orders need approval; their ids."""
    run = scribe.start_run("eq")
    proposed = tuple(ProposedOrder("AAA", "USD", side.value, str(n), "100", exchange="SMART") for n in range(1, count + 1))
    scribe.write("agent", ProposalMade("s", proposed, "", StopReason.SUBMITTED), run, book="eq", run=run)
    rows = tuple(
        replace(decision(n, ("AAA", side, str(n), "100"), ""), approved=False, needs_approval=True, order=None)
        for n in range(1, count + 1)
    )
    scribe.write("gate", Verdict("proposal", rows, (), None, None, "p", "1", (), SLOT), run, book="eq", run=run)
    scribe.settled(run)
    scribe.write("agent", RunEnded(RunStatus.OK, ""), run, book="eq", run=run)
    return [f"{run}-{n}" for n in range(1, count + 1)]


def test_an_approval_causes_a_run_that_judges_its_order_once() -> None:
    scribe = Protected()
    (order,) = asking(scribe)
    assert scribe.owes() == []
    given = scribe.write("desk", ApprovalGiven(order, "fine"), "r1")
    assert scribe.owes() == [("executor", "MarketObserved", A1)]
    scribe.write("desk", ApprovalGiven(order, "fine"), "r2")
    assert scribe.state.approvals[order].given == given  # the first one stands

    observe(scribe, A1, "r1")
    assert scribe.owes() == [("gate", "Verdict", A1)]
    assert scribe.state.runs[A1].approval == replace(scribe.state.approvals[order], caused=None)
    assert (scribe.state.approvals[order].caused, scribe.book().runs) == (A1, (A1,))
    scribe.approve(A1, ("AAA", BUY, "1", "100"), kind="approval")
    assert (scribe.state.approvals, scribe.book().month.used) == ({}, 1)
    assert scribe.owes() == [("executor", "OrderIntended", f"{A1}-1")]


def observe(scribe: Protected, run: str, request: str) -> None:
    scribe.write(
        "executor", MarketObserved("approval", (), {}, {}, {}), run, book="eq", run=run, cause=f"desk:ApprovalGiven:{request}"
    )


def test_two_approvals_are_judged_one_after_the_other() -> None:
    scribe = Protected()
    first, second = asking(scribe, 2)
    scribe.write("desk", ApprovalGiven(first, "fine"), "r1")
    scribe.write("desk", ApprovalGiven(second, "fine"), "r2")
    observe(scribe, A1, "r1")
    assert scribe.owes() == [("gate", "Verdict", A1)]
    scribe.approve(A1, kind="approval")
    scribe.settled(A1)
    a2 = "20221003T1030-eq-a2"
    assert scribe.owes() == [("executor", "MarketObserved", a2)]
    observe(scribe, a2, "r2")
    found = scribe.state.runs[a2].approval
    assert found is not None
    assert found.order == second


def test_a_refused_order_is_not_judged_again_and_one_under_judgement_cannot_be_refused() -> None:
    scribe = Protected()
    first, second = asking(scribe, 2)
    scribe.write("desk", ApprovalRefused(first, "no"), "r1")
    scribe.write("desk", ApprovalGiven(first, "yes"), "r2")
    assert (scribe.owes(), list(scribe.state.approvals)) == ([], [second])
    scribe.write("desk", ApprovalGiven(second, "yes"), "r3")
    observe(scribe, A1, "r3")
    scribe.write("desk", ApprovalRefused(second, "no"), "r4")
    assert (scribe.owes(), list(scribe.state.approvals)) == ([("gate", "Verdict", A1)], [second])


def test_a_halt_after_an_approval_stops_the_order_for_good() -> None:
    scribe = Protected()
    (order,) = asking(scribe)
    scribe.write("desk", ApprovalGiven(order, "fine"), "r1")
    observe(scribe, A1, "r1")
    (sent,) = scribe.approve(A1, ("AAA", BUY, "1", "100"), kind="approval")
    scribe.ordered("full")
    assert scribe.order(sent).must_end


def test_a_halt_stops_an_approval_that_was_given_before_it_for_good_and_leaves_what_still_waits() -> None:
    scribe = Protected()
    first, second = asking(scribe, 2)
    scribe.write("desk", ApprovalGiven(first, "fine"), "r1")
    scribe.ordered("reduce_only")
    scribe.write("desk", HaltReset("eq", "over"), "reset", book="eq")
    scribe.write("desk", ApprovalGiven(second, "fine"), "r2")
    assert [row.halt is not None for row in scribe.state.approvals.values()] == [True, False]


def test_a_reset_stops_what_the_halt_was_selling() -> None:
    scribe = Protected()
    scribe.tripped()
    first, second = scribe.sold(1, ("AAA", SELL, "10", "99"), ("BBB", SELL, "10", "99"))
    scribe.placed(first)
    scribe.write("desk", HaltReset("eq", "keep them", True), "reset", book="eq")
    assert (scribe.order(first).must_end, scribe.order(second).must_end) == (True, True)
    assert scribe.owes() == [("executor", "OrderClosed", first), ("executor", "OrderIntended", second)]


def test_a_stopped_run_of_a_dead_agent_keeps_nothing_from_being_sold() -> None:
    scribe = Protected()
    run = scribe.start_run("eq")
    scribe.tripped()
    scribe.write("gate", RunStopped(RunStatus.KILL_SWITCH, "it fell"), run, book="eq", run=run)
    assert ("executor", "MarketObserved", K1) in scribe.owes()


def test_a_policy_with_one_confirmation_trips_at_the_first_breach() -> None:
    policy = replace(POLICY, limits=replace(POLICY.limits, drawdown_confirmations=1))
    scribe = Protected(policy=policy)
    scribe.clock("watch", WATCH)
    scribe.looked()
    scribe.watched("7000", breach(1))
    assert scribe.owes() == [("gate", "HaltTripped", "eq-20221003T150000Z")]


@pytest.mark.parametrize(("limit", "trips"), [("30", True), ("30.00000001", False)])
def test_a_policy_adopted_behind_a_breach_trips_only_if_it_is_one_under_it_too(limit: str, trips: bool) -> None:
    scribe = Protected()
    scribe.clock("watch", WATCH)
    scribe.looked()
    scribe.watched("7000", breach(1))
    assert scribe.owes() == []
    wider = replace(POLICY, limits=replace(POLICY.limits, max_drawdown_pct=Exact(limit), drawdown_confirmations=1))
    scribe.write("desk", PolicyAdopted(wider, (), "p2", "wider, but at once"), "p2")
    assert [kind for _, kind, _ in scribe.owes()] == (["HaltTripped"] if trips else [])


def test_a_second_trip_in_one_step_is_another_event() -> None:
    scribe = Protected()
    scribe.clock("watch", WATCH)
    scribe.looked()
    scribe.watched(None)
    scribe.tripped("evaluator_failed")
    scribe.watched("7000", breach(2))
    (item,) = owed(scribe.state)
    assert (item.type, item.about, item.k) == ("HaltTripped", "eq-20221003T150000Z", 2)


def test_a_flatten_of_one_name_begins_only_for_that_name_and_leaves_a_sources_orders_at_work() -> None:
    scribe = Protected()
    (order,) = scribe.approve(scribe.start_run("eq"), ("AAA", SELL, "10", "120"))
    scribe.placed(order)
    scribe.write("desk", FlattenOrdered("eq", "AAA:USD", "enough"), "f1", book="eq")
    assert scribe.owes() == []  # all of it is being sold already
    scribe.write("desk", FlattenOrdered("eq", "BBB:USD", "enough"), "f2", book="eq")
    (exit_,) = scribe.sold(1, ("BBB", SELL, "10", "99"))
    scribe.placed(exit_)
    scribe.clock("watch", WATCH)
    assert [about for _, kind, about in scribe.owes() if kind == "OrderClosed"] == [exit_]


@pytest.mark.parametrize(("kind", "stops"), [("full", True), ("reduce_only", False)])
def test_a_given_approval_of_an_exit_is_stopped_by_a_full_halt_alone(kind: str, stops: bool) -> None:
    scribe = Protected()
    (order,) = asking(scribe, side=SELL)
    scribe.write("desk", ApprovalGiven(order, "fine"), "r1")
    scribe.ordered(kind)
    assert (scribe.state.approvals[order].halt is not None) is stops
