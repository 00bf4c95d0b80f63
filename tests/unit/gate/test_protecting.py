"""What the gate appends to protect a book, decided from the folded log."""

from typing import Any

import pytest
from msgspec.structs import replace

from services.gate.decisions import decide
from shared.ledger.owed import Owed
from shared.protocol.events import (
    AccountReconciled,
    ApprovalGiven,
    BookValued,
    CashDeposited,
    Difference,
    HaltOrdered,
    HaltReset,
    HaltTripped,
    MarketObserved,
    PolicyAdopted,
    ReconciliationFailed,
    RunCleared,
    RunEnded,
    RunSettled,
    RunStopped,
    Verdict,
)
from shared.protocol.ids import DESK_BOOK
from shared.protocol.instants import compact
from shared.protocol.market import ProposedOrder, Side
from shared.protocol.money import Exact
from shared.protocol.policy import Policy
from shared.protocol.reasons import Rule, RunStatus
from tests.support.scribe import CLOSE, POLICY, SLOT
from tests.unit.gate.walk import PRICES, Walk, observed

WATCH, LATER = "2022-10-03T15:00:00.000000Z", "2022-10-03T15:30:00.000000Z"
CRASH = {"AAA": "50", "BBB": "50"}


def limited(**limits: Any) -> Policy:
    return replace(POLICY, limits=replace(POLICY.limits, **limits))


def holding(policy: Policy = POLICY) -> Walk:
    """60 AAA bought at 100 for a fee of 1: 3,999 in cash, worth 9,999 at 100 and 6,999 at 50 (30.01 % down)."""
    walk = Walk(policy)
    walk.fill("20220930T1030-alpha-1-1", "e1", "AAA", Side.BUY, "60", "100")
    return walk


def watch(walk: Walk, at: str, prices: dict[str, str]) -> None:
    """A watch step up to what the gate owes."""
    walk.clock("watch", at)
    about = f"{DESK_BOOK}-{compact(at)}"
    walk.write("executor", observed("watch", at, prices), about)


def ended(walk: Walk) -> Walk:
    walk.of_run("agent", RunEnded(RunStatus.ERROR, ""))
    return walk


def valued(walk: Walk) -> BookValued:
    return walk.take().expect(BookValued)


def test_one_breach_stops_buying_and_the_run_goes_on() -> None:
    walk = holding().seen(CRASH)
    data = valued(walk)
    assert data.breach is not None
    assert (data.breach.count, data.breach.run, str(data.drawdown_pct)) == (1, walk.run, "30.01")
    assert walk.decided().data == RunCleared(Exact(6999), (Rule.DRAWDOWN,))


def test_a_breach_goes_on_stopping_buys_when_the_evidence_of_the_verdict_looks_well() -> None:
    walk = holding().proposed(ProposedOrder("BBB", "USD", "BUY", "1", "50"), prices=PRICES)
    walk.watched_breach()
    data = walk.decided().data
    assert isinstance(data, Verdict)
    assert [reason.rule for reason in data.block] == [Rule.DRAWDOWN]
    assert [row.approved for row in data.decisions] == [False]


def test_one_confirmation_trips_at_once_and_the_run_ends_by_the_kill_switch() -> None:
    walk = holding(limited(drawdown_confirmations=1)).seen(CRASH)
    observation = valued(walk).evidence
    draft = walk.decided()
    data = draft.data
    assert isinstance(data, HaltTripped)
    assert (draft.id, draft.cause, draft.book) == (f"gate:HaltTripped:{walk.run}", f"gate:BookValued:{walk.run}", "alpha")
    assert (data.scope, data.kind, data.liquidate, data.cause) == ("alpha", "full", True, "kill_switch")
    assert (str(data.value), str(data.peak), str(data.drawdown_pct), str(data.limit_pct)) == ("6999", "10000", "30.01", "25")
    assert data.evidence == observation
    walk.take()
    stopped = walk.decided().data
    assert isinstance(stopped, RunStopped)
    assert (stopped.status, "30.01 %" in stopped.message) == (RunStatus.KILL_SWITCH, True)


@pytest.mark.parametrize(
    ("limits", "session"),
    [({}, {"is_open": False}), ({"max_trades_per_month": 0, "exits_exempt": False}, {})],
    ids=["market closed", "month used up"],
)
def test_it_trips_before_market_hours_and_order_limit_are_looked_at(limits: dict[str, Any], session: dict[str, Any]) -> None:
    walk = holding(limited(drawdown_confirmations=1, **limits)).seen(CRASH, **session)
    walk.take()
    assert isinstance(walk.take().expect(HaltTripped), HaltTripped)
    stopped = walk.decided().data
    assert isinstance(stopped, RunStopped)
    assert stopped.status is RunStatus.KILL_SWITCH


def test_the_next_run_of_a_halted_book_is_halted_without_the_agent_being_asked() -> None:
    walk = holding(limited(drawdown_confirmations=1)).seen(CRASH)
    for _ in range(3):
        walk.take()
    ended(walk)
    walk.clock("slot", "2022-10-04T14:30:00.000000Z", ("alpha",), session="2022-10-04")
    walk.run = walk.start_run("alpha")
    walk.seen(CRASH)
    walk.take()
    data = walk.decided().data
    assert isinstance(data, RunStopped)
    assert data.status is RunStatus.HALTED


def test_a_watch_values_without_moving_the_peak_confirms_and_trips() -> None:
    walk = ended(holding())
    watch(walk, WATCH, CRASH)
    walk.looks()
    first = valued(walk)
    assert (first.purpose, first.breach and first.breach.count, first.peak) == ("watch", 1, Exact(10000))
    watch(walk, LATER, CRASH)
    walk.looks()
    second = valued(walk)
    assert second.breach is not None
    assert (second.breach.count, second.breach.evidence) == (2, (*first.evidence, *second.evidence))
    draft = walk.decided()
    assert isinstance(draft.data, HaltTripped)
    assert (draft.id, draft.cause) == ("gate:HaltTripped:alpha-20221003T153000Z", "gate:BookValued:alpha-20221003T153000Z")


def test_a_crash_at_the_close_is_confirmed_by_the_run_before_it_and_trips() -> None:
    walk = holding().seen(CRASH)
    walk.take()
    walk.of_run("gate", RunStopped(RunStatus.HALTED, "over"))
    ended(walk).closing(CRASH)
    assert valued(walk).breach is not None
    assert isinstance(walk.take().expect(HaltTripped), HaltTripped)
    assert walk.item.type == "StateHashed"


@pytest.mark.parametrize("purpose", ["run", "watch"])
def test_an_unknown_value_trips_reduce_only_once_and_names_what_has_no_price(purpose: str) -> None:
    walk = holding()
    if purpose == "run":
        walk.seen({"BBB": "50"})
    else:
        watch(ended(walk), WATCH, {"BBB": "50"})
        walk.looks()
    walk.take()
    draft = walk.decided()
    data = draft.data
    assert isinstance(data, HaltTripped)
    assert (data.kind, data.liquidate, data.cause, data.value) == ("reduce_only", False, "evaluator_failed", None)
    assert "no price or rate for AAA:USD" in data.message
    walk.take()
    if purpose == "run":
        assert walk.decided().data == RunCleared(None, (Rule.HALT, Rule.VALUATION))


def test_a_top_up_at_20_percent_drawdown_leaves_20_percent() -> None:
    # 3,999 + 60 × 66.6833…: at 66.68 the value is 7,999.8, 20.002 % down
    walk = ended(holding())
    watch(walk, WATCH, {"AAA": "66.68"})
    walk.looks()
    before = valued(walk)
    walk.write("desk", CashDeposited(Exact(10000), "more"), "top-up", book="alpha")
    watch(walk, LATER, {"AAA": "66.68"})
    walk.looks()
    after = valued(walk)
    assert (str(before.drawdown_pct), str(after.drawdown_pct), after.breach) == ("20.002", "20.002", None)


def liquidating(walk: Walk, prices: dict[str, str], positions: dict[str, str] | None, at: str = SLOT) -> Verdict:
    """The verdict on a liquidation of the book at these prices and positions."""
    run = f"20221003T{'1030' if at == SLOT else '1100'}-alpha-k1"
    held = None if positions is None else {key: Exact(text) for key, text in positions.items()}
    walk.write("executor", replace(observed("liquidation", at, prices), positions=held), run, book="alpha", run=run)
    draft = decide(walk.state, Owed("gate", "Verdict", run, "alpha", run))
    assert draft is not None
    assert (draft.id, draft.cause) == (f"gate:Verdict:{run}", f"executor:MarketObserved:{run}")
    data = draft.data
    assert isinstance(data, Verdict)
    return data


def halted(walk: Walk) -> Walk:
    ended(walk)
    walk.write("desk", HaltOrdered("alpha", "full", True, "stop"), "h1", book="alpha")
    return walk


def test_a_liquidation_is_judged_on_its_own_evidence_with_the_brokers_position() -> None:
    data = liquidating(halted(holding()), {"AAA": "100"}, {"AAA:USD": "45"})
    (row,) = data.decisions
    assert (data.kind, data.block, data.valid_until) == ("liquidation", (), "2022-10-03T14:35:00.000000Z")
    assert (row.approved, row.side, row.quantity, row.limit) == (True, "SELL", Exact(45), Exact(99))


@pytest.mark.parametrize("positions", [None, {"AAA:USD": "0"}], ids=["unknown", "none"])
def test_what_the_broker_is_not_known_to_have_is_not_sold(positions: dict[str, str] | None) -> None:
    (row,) = liquidating(halted(holding()), {"AAA": "100"}, positions).decisions
    assert (row.approved, [reason.rule for reason in row.reasons]) == (False, [Rule.HOLDING])


def test_while_the_brokers_position_is_unknown_its_last_complete_answer_counts() -> None:
    walk = halted(holding())
    line = Difference("positions", "a complete answer", None)
    walk.write("executor", AccountReconciled("DU1", {"USD": Exact(5)}, {"AAA:USD": Exact(52)}, ()), "a")
    walk.write("executor", ReconciliationFailed("DU1", (line,)), "b")
    (row,) = liquidating(walk, {"AAA": "100"}, None).decisions
    assert (row.approved, row.quantity) == (True, Exact(52))


def test_an_attempt_after_an_unfilled_one_goes_lower_and_a_new_exchange_day_starts_again() -> None:
    walk = halted(holding())
    run = "20221003T1030-alpha-k1"
    walk.write("gate", liquidating(walk, {"AAA": "100"}, {"AAA:USD": "60"}), run, book="alpha", run=run)
    walk.refused(f"{run}-1")
    walk.clock("watch", WATCH)
    (second,) = liquidating(walk, {"AAA": "100"}, {"AAA:USD": "60"}, WATCH).decisions
    assert second.limit == Exact(98)
    later = halted(holding())
    later.write("gate", liquidating(later, {"AAA": "100"}, {"AAA:USD": "60"}), run, book="alpha", run=run)
    later.refused(f"{run}-1")
    at = "2022-10-04T14:30:00.000000Z"
    later.clock("slot", at, session="2022-10-04")
    next_run = "20221004T1030-alpha-k1"
    seen = replace(observed("liquidation", at, {"AAA": "100"}, closes_at="2022-10-04T20:00:00.000000Z"))
    later.write("executor", replace(seen, positions={"AAA:USD": Exact(60)}), next_run, book="alpha", run=next_run)
    draft = decide(later.state, Owed("gate", "Verdict", next_run, "alpha", next_run))
    assert draft is not None
    assert isinstance(draft.data, Verdict)
    assert draft.data.decisions[0].limit == Exact(99)


def approved_again(
    walk: Walk,
    prices: dict[str, str],
    *,
    policy: Policy | None = None,
    at: str | None = None,
    halted: bool = False,
    halted_since: bool = False,
) -> Verdict:
    """An order over 500 that was approved is judged afresh."""
    proposal = walk.proposed(ProposedOrder("BBB", "USD", "BUY", "12", "50"))
    proposal.take()
    order = f"{walk.run}-1"
    assert list(walk.state.approvals) == [order]
    walk.of_run("executor", RunSettled(0, 0, 0))
    walk.of_run("agent", RunEnded(RunStatus.OK, ""))
    if policy is not None:
        walk.write("desk", PolicyAdopted(policy, (), "another", "new"), "p2")
    if at is not None:
        walk.clock("slot", at)
    if halted:
        walk.write("desk", HaltOrdered("alpha", "full", False, "stop"), "h1", book="alpha")
    walk.write("desk", ApprovalGiven(order, "fine"), "r1")
    if halted_since:
        walk.write("desk", HaltOrdered("alpha", "full", False, "stop"), "h1", book="alpha")
        walk.write("desk", HaltReset("alpha", "over"), "h2", book="alpha")
    run = "20221003T1030-alpha-a1"
    seen = observed("approval", walk.state.now or SLOT, prices)
    walk.write("executor", seen, run, book="alpha", run=run, cause="desk:ApprovalGiven:r1")
    draft = decide(walk.state, Owed("gate", "Verdict", run, "alpha", run))
    assert draft is not None
    assert isinstance(draft.data, Verdict)
    return draft.data


ASKS = limited(approval_above=Exact(500), max_position_pct=Exact(100))


def test_an_approved_order_is_judged_by_all_rules_but_the_approvals_own() -> None:
    data = approved_again(Walk(ASKS), PRICES)
    (row,) = data.decisions
    assert (data.kind, row.approved, row.needs_approval, row.order) == ("approval", True, False, "20221003T1030-alpha-a1-1")
    assert (row.symbol, row.quantity, row.limit) == ("BBB", Exact(12), Exact(50))


@pytest.mark.parametrize(
    ("case", "rules"),
    [
        ({"prices": {"BBB": "51.03"}}, [Rule.PRICE_COLLAR]),
        ({"prices": {}}, [Rule.QUOTE]),
        ({"prices": PRICES, "policy": limited(approval_above=Exact(501), max_position_pct=Exact(100))}, [Rule.APPROVAL]),
        ({"prices": PRICES, "at": "2022-10-03T15:30:00.000001Z"}, [Rule.APPROVAL]),
        ({"prices": PRICES, "halted": True}, [Rule.HALT]),
        ({"prices": PRICES, "halted_since": True}, [Rule.HALT]),
    ],
    ids=["out of the collar", "no price", "another policy", "too late", "halted", "halted since, and reset"],
)
def test_an_approval_that_does_not_count_any_more_means_blocked(case: dict[str, Any], rules: list[Rule]) -> None:
    (row,) = approved_again(Walk(ASKS), **case).decisions
    assert (row.approved, row.order, [reason.rule for reason in row.reasons]) == (False, None, rules)


def test_an_approval_counts_up_to_its_last_second() -> None:
    (row,) = approved_again(Walk(ASKS), PRICES, at="2022-10-03T15:30:00.000000Z").decisions
    assert row.approved


def test_a_reset_lets_the_book_trade_again_from_the_value_it_has() -> None:
    walk = holding(limited(drawdown_confirmations=1)).seen(CRASH)
    for _ in range(3):
        walk.take()
    walk.write("desk", HaltReset("alpha", "looked into it", True), "reset", book="alpha")
    ended(walk)
    watch(walk, WATCH, CRASH)
    walk.looks()
    data = valued(walk)
    assert (data.peak, str(data.drawdown_pct), data.breach) == (Exact(6999), "0", None)


def test_the_purpose_of_an_observation_is_what_begins_a_caused_run() -> None:
    walk = halted(holding())
    walk.write("executor", MarketObserved("verdict", (), {}, {}, {}), "x", book="alpha", run="20221003T1030-alpha-k1")
    assert "20221003T1030-alpha-k1" not in walk.state.runs
    assert walk.state.now != CLOSE
