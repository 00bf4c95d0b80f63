"""Trips, resets, approvals and reservations in the fold, field by field."""

import pytest
from msgspec.structs import replace

from shared.ledger.account_state import Approval
from shared.ledger.fold import find_order
from shared.ledger.parts import Counter, Halt, LedgerOrder, Sale
from shared.ledger.reservations import reserved_by, reserved_shares
from shared.protocol.envelope import EnvelopeError
from shared.protocol.events import (
    ApprovalGiven,
    Decision,
    HaltOrdered,
    HaltReset,
    HaltTripped,
    OrderClosed,
    ProposalMade,
    RunEnded,
    SourcePaused,
    SourceResumed,
    Verdict,
)
from shared.protocol.ids import DESK_BOOK
from shared.protocol.market import ProposedOrder, Side
from shared.protocol.money import ZERO, Exact
from shared.protocol.policy import Commission
from shared.protocol.reasons import OrderEnd, RunStatus, StopReason
from tests.support.scribe import SLOT, Scribe
from tests.unit.gate.walk import observed

RUN = "20221003T1030-eq-1"
UNFILLED = {"AAA:USD": Counter("2022-10-03", 2)}


def desk(*books: str) -> Scribe:
    """A slot in which eq has a run with a BUY and a SELL that were approved."""
    scribe = Scribe().open_desk(*(books or ("eq",)))
    scribe.clock("slot", SLOT, books or ("eq",))
    scribe.start_run("eq")
    scribe.approve(RUN, ("AAA", Side.BUY, "1", "100"), ("AAA", Side.SELL, "1", "101"))
    return scribe


def trip(scribe: Scribe, *, run: str | None = None, scope: str = "eq", cause: str = "kill_switch", kind: str = "full") -> None:
    data = HaltTripped(scope, kind, kind == "full", cause, "why", None, None, None, None, ())
    scribe.write("gate", data, run or f"eq-{SLOT[:10]}", book="eq", run=run)


def halts(scribe: Scribe, run: str = RUN) -> list[str | None]:
    """What stops each order of a run."""
    return [order.halt.kind if order.halt else None for order in scribe.state.runs[run].orders.values()]


def test_a_trip_inside_a_run_is_that_runs_and_one_outside_the_steps() -> None:
    inside, outside = desk(), desk()
    trip(inside, run=RUN)
    trip(outside)
    assert inside.state.step is not None
    assert outside.state.step is not None

    assert inside.state.runs[RUN].tripped == inside.events[-1]
    assert inside.state.step.tripped == ()
    assert outside.state.runs[RUN].tripped is None
    assert outside.state.step.tripped == ("eq",)


@pytest.mark.parametrize(("runs", "tripped"), [((None, None), ("eq", "eq")), (("20221003T1030-eq-2",), ("eq",))])
def test_every_trip_that_is_no_runs_is_the_steps(runs: tuple[str | None, ...], tripped: tuple[str, ...]) -> None:
    scribe = desk()
    for run in runs:
        trip(scribe, run=run)

    assert scribe.state.step is not None
    assert scribe.state.step.tripped == tripped


def test_a_trip_before_the_first_step_is_a_halt_all_the_same() -> None:
    scribe = desk()
    scribe.state = replace(scribe.state, step=None)
    data = HaltTripped("eq", "full", True, "kill_switch", "why", None, None, None, None, ())
    scribe.write("gate", data, "x", book="eq")

    assert scribe.state.books["eq"].halt == Halt("full", "why", "kill_switch", True)


def test_a_blinded_book_stops_its_buys_and_no_other_books() -> None:
    scribe = desk("eq", "mo")
    other = scribe.start_run("mo")
    scribe.approve(other, ("AAA", Side.BUY, "1", "100"))
    trip(scribe, cause="evaluator_failed", kind="reduce_only")

    assert halts(scribe) == ["reduce_only", None]
    assert halts(scribe, other) == [None]
    assert (scribe.state.books["eq"].blind, scribe.state.books["mo"].blind) == (True, False)


def test_a_halt_of_a_book_that_is_not_there_changes_nothing() -> None:
    scribe = desk()
    before = scribe.state
    scribe.write("desk", HaltOrdered("nobody", "full", False, "why"), "r1", book="nobody")

    assert replace(scribe.state, seq=before.seq) == before


@pytest.mark.parametrize("liquidate", [(True, False), (False, True), (False, False)])
def test_of_two_halts_that_stand_one_selling_is_enough(liquidate: tuple[bool, bool]) -> None:
    scribe = desk()
    for number, sells in enumerate(liquidate):
        scribe.write("desk", HaltOrdered(DESK_BOOK, "full", sells, f"halt {number}"), f"r{number}")

    assert scribe.state.halts == {DESK_BOOK: Halt("full", "halt 1", liquidate=any(liquidate))}


def test_a_halt_goes_on_from_what_was_not_filled_before() -> None:
    scribe = desk()
    book = replace(scribe.state.books["eq"], sale=Sale("e", unfilled=UNFILLED))
    scribe.state = replace(scribe.state, books={"eq": book})
    scribe.write("desk", HaltOrdered("eq", "full", True, "why"), "r1", book="eq")

    assert scribe.state.books["eq"].sale == Sale("desk:HaltOrdered:r1", halted=True, unfilled=UNFILLED)


def test_what_the_desks_halt_sells_a_reset_of_the_book_leaves() -> None:
    scribe = desk()
    scribe.write("desk", HaltOrdered(DESK_BOOK, "full", True, "all"), "r1")
    scribe.write("desk", HaltOrdered("eq", "full", True, "one"), "r2", book="eq")
    scribe.write("desk", HaltReset("eq", "over"), "r3", book="eq")
    assert scribe.state.books["eq"].sale is not None
    scribe.write("desk", HaltReset(DESK_BOOK, "over"), "r4")
    assert scribe.state.books["eq"].sale is None


SEVEN, HUNDRED = Exact(7), Exact(100)


def needing(quantity: Exact | None = SEVEN, limit: Exact | None = HUNDRED) -> Scribe:
    """A verdict whose second order needs approval."""
    scribe = Scribe().open_desk("eq")
    scribe.clock("slot", SLOT, ("eq",))
    scribe.start_run("eq")
    orders = tuple(ProposedOrder("AAA", "USD", "BUY", "7", "100", "", place) for place in ("XETR", "SMART", "ASX"))
    scribe.write("agent", ProposalMade("s", orders, "", StopReason.SUBMITTED, untrusted=True), RUN, book="eq", run=RUN)
    row = Decision(2, "AAA", "USD", "BUY", quantity, limit, False, True, Exact(700), Exact(1), Exact(1), (), None, None)
    scribe.write("gate", Verdict("proposal", (row,), (), None, None, "hash", "2", (), SLOT), RUN, book="eq", run=RUN)
    return scribe


WAITS = Approval(f"{RUN}-2", "eq", RUN, "AAA", "USD", "BUY", Exact(7), Exact(100), SLOT, "hash", exchange="SMART", untrusted=True)


def test_an_order_that_needs_approval_waits_as_it_was_proposed() -> None:
    assert needing().state.approvals == {WAITS.order: WAITS}


@pytest.mark.parametrize(("quantity", "limit"), [(None, Exact(1)), (Exact(1), None)])
def test_what_has_no_quantity_or_limit_cannot_wait(quantity: Exact | None, limit: Exact | None) -> None:
    assert needing(quantity, limit).state.approvals == {}


def test_an_approval_that_was_given_is_stopped_by_a_full_halt_and_judged_in_its_own_run() -> None:
    scribe = needing()
    given = scribe.write("desk", ApprovalGiven(WAITS.order, "fine"), "r1", book="eq")
    seen = observed("approval", SLOT, {"AAA": "100"})
    about = "20221003T1030-eq-a1"
    assert scribe.state.approvals[WAITS.order].given == given
    scribe.write("executor", seen, about, book="eq", run=about)
    assert about not in scribe.state.runs, "no cause: not the observation that the approval waits for"
    scribe.write("desk", HaltOrdered("eq", "full", False, "why"), "r2", book="eq")
    stopped = scribe.state.approvals[WAITS.order].halt
    assert stopped is not None
    assert stopped.kind == "full"


def test_ends_of_what_is_over_or_unknown_change_nothing() -> None:
    scribe = desk()
    closed = OrderClosed(f"{RUN}-1", OrderEnd.CANCELLED, ZERO, "")
    scribe.write("executor", closed, f"{RUN}-1", book="eq", run=RUN)
    before = scribe.state
    scribe.write("executor", closed, f"{RUN}-1", book="eq", run=RUN)
    scribe.write("executor", replace(closed, order=f"{RUN}-9"), f"{RUN}-9", book="eq", run=RUN)

    assert replace(scribe.state, seq=before.seq) == before
    for run in (None, "20221003T1030-eq-7"):
        with pytest.raises(EnvelopeError, match="not under way"):
            scribe.write("agent", RunEnded(RunStatus.OK, ""), "x", book="eq", run=run)
    assert find_order(scribe.state, f"{RUN}-9") is None


def test_runs_are_counted_by_how_they_ended() -> None:
    scribe = desk()
    scribe.state = replace(scribe.state, books={"eq": replace(scribe.state.books["eq"], counts={"ok": 1, "held": 4})})
    scribe.write("agent", RunEnded(RunStatus.OK, ""), RUN, book="eq", run=RUN)

    assert scribe.state.books["eq"].counts == {"ok": 2, "held": 4}


def test_a_resumed_source_is_as_if_it_had_never_been_paused() -> None:
    scribe = desk()
    scribe.write("desk", SourcePaused("a holiday"), "r1", book="eq")
    assert scribe.state.books["eq"].paused == "a holiday"
    scribe.write("desk", SourceResumed("back"), "r2", book="eq")
    assert scribe.state.books["eq"].paused == ""


AUD = Commission("AUD", Exact("0.01"), Exact(5), Exact(2))


def working(side: Side, quantity: str, filled: str, name: str = "o1") -> LedgerOrder:
    fields = (Exact(quantity), Exact(40), Exact("0.5"), AUD, ("", ""))
    return replace(LedgerOrder(name, "eq", RUN, "BHP", "AUD", side, *fields), filled=Exact(filled))


def test_a_buy_holds_back_what_is_left_of_it_with_its_fee_in_base_currency_and_a_sell_nothing() -> None:
    # 6 × 40 = 240 and 2 % of it, as that is below the minimum of 5; half of both in base currency
    assert reserved_by(working(Side.BUY, "10", "4")) == Exact("122.4")
    assert reserved_by(working(Side.BUY, "10", "10")) == ZERO
    assert reserved_by(working(Side.SELL, "10", "4")) == ZERO
    sells = {order.id: order for order in (working(Side.SELL, "10", "4"), working(Side.SELL, "3", "0", "o2"))}
    book = replace(desk().state.books["eq"], orders=sells)
    assert reserved_shares(book, "BHP:AUD") == Exact(9)
    assert reserved_shares(book, "BHP:AUD", Side.BUY) == ZERO
