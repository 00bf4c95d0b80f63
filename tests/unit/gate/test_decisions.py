"""What the gate appends, decided from the folded log."""

from typing import Any

import pytest
from msgspec.structs import replace

from services.gate.decisions import decide, valid_until
from services.gate.rules import RULES_VERSION
from shared.ledger.hashing import state_hash
from shared.ledger.owed import Owed
from shared.protocol.events import (
    BookValued,
    HaltOrdered,
    HaltTripped,
    RunCleared,
    RunEnded,
    RunStarted,
    RunStopped,
    SourcePaused,
    SourceResumed,
    StateHashed,
    Verdict,
)
from shared.protocol.instants import parse
from shared.protocol.market import ProposedOrder, Side
from shared.protocol.money import Exact
from shared.protocol.reasons import Rule, RunStatus
from tests.support.scribe import CLOSE, POLICY, SESSION, SLOT
from tests.unit.gate.walk import Walk

EVIDENCE = "executor:MarketObserved:20221003T1030-alpha-1"


def limited(**limits: Any) -> Any:
    return replace(POLICY, limits=replace(POLICY.limits, **limits))


def buy(symbol: str = "AAA", quantity: str = "10", limit: str = "100") -> ProposedOrder:
    return ProposedOrder(symbol, "USD", "BUY", quantity, limit)


def holding(walk: Walk, symbol: str = "AAA", quantity: str = "10") -> Walk:
    """The book bought in an earlier session what it holds now."""
    order = "20220930T1030-alpha-1-1"
    walk.fill(order, "e1", symbol, Side.BUY, quantity, "100")
    return walk


def cleared(walk: Walk) -> RunCleared | RunStopped:
    """What follows the valuation."""
    walk.take()
    data = walk.decided().data
    assert isinstance(data, RunCleared | RunStopped)
    return data


def test_a_run_is_valued_on_its_own_observation() -> None:
    walk = holding(Walk()).seen({"AAA": "110", "BBB": "50"})
    draft = walk.decided()
    data = draft.data

    assert (draft.id, draft.book, draft.run, draft.cause) == (f"gate:BookValued:{walk.run}", "alpha", walk.run, EVIDENCE)
    assert (draft.at, draft.as_of) == (SLOT, walk.state.seq)
    assert isinstance(data, BookValued)
    # 10000 − 1001 + 10 × 110
    assert (data.purpose, str(data.cash), str(data.value), str(data.peak), str(data.drawdown_pct)) == (
        "run",
        "8999",
        "10099",
        "10000",
        "0",
    )
    assert (str(data.previous), data.evidence, data.used.month) == ("10099", (EVIDENCE,), 0)
    assert [(row.symbol, str(row.quantity), str(row.price), str(row.value)) for row in data.holdings] == [
        ("AAA", "10", "110", "1100")
    ]


def test_nothing_is_decided_before_what_it_needs_is_in_the_log() -> None:
    walk = Walk()
    for kind in ("BookValued", "RunCleared", "Verdict"):
        assert decide(walk.state, Owed("gate", kind, walk.run, "alpha", walk.run)) is None
    walk.of_run("agent", RunEnded(RunStatus.ERROR, ""))
    walk.clock("close", CLOSE)
    assert decide(walk.state, Owed("gate", "BookValued", "alpha-x", "alpha")) is None


def test_a_foreign_item_is_an_error() -> None:
    with pytest.raises(LookupError):
        decide(Walk().state, Owed("gate", "RunStarted", "x", "alpha"))


def test_a_run_in_order_is_cleared_with_its_value() -> None:
    data = cleared(Walk().seen())

    assert data == RunCleared(Exact(10000), ())


def test_an_unknown_value_a_failed_reconciliation_and_a_reduce_only_halt_block_buys() -> None:
    walk = holding(Walk()).seen({"BBB": "50"}, failed=True)
    walk.write("executor", HaltOrdered("alpha", "reduce_only", False, "careful"), "h1", book="alpha")
    walk.take()
    assert isinstance(walk.take().expect(HaltTripped), HaltTripped)

    assert walk.decided().data == RunCleared(None, (Rule.HALT, Rule.HALT, Rule.VALUATION, Rule.RECONCILIATION))


def test_a_drawdown_blocks_buys() -> None:
    # 10 × 100 bought at 100 is worth 10 × 1 now: 8999 + 10 = 9009
    walk = holding(Walk(limited(max_drawdown_pct=Exact("9.91")))).seen({"AAA": "1", "BBB": "50"})

    assert cleared(walk) == RunCleared(Exact(9009), (Rule.DRAWDOWN,))


@pytest.mark.parametrize("scope", ["alpha", "_desk"])
def test_a_full_halt_stops_a_run(scope: str) -> None:
    walk = Walk().seen()
    walk.write("executor", HaltOrdered(scope, "full", False, "stop"), "h1", book=scope)

    assert cleared(walk) == RunStopped(RunStatus.HALTED, "full halt: stop")


def test_a_paused_source_is_not_asked_and_the_run_says_why_until_it_is_resumed() -> None:
    walk = Walk().seen()
    walk.write("desk", SourcePaused("holidays"), "p1", book="alpha")
    assert cleared(walk) == RunStopped(RunStatus.HALTED, "the source of alpha is paused: holidays")

    again = Walk().seen()
    again.write("desk", SourcePaused("holidays"), "p1", book="alpha")
    again.write("desk", SourceResumed("back"), "p2", book="alpha")
    assert isinstance(cleared(again), RunCleared)


def test_a_run_of_a_book_that_is_not_there_is_stopped() -> None:
    walk = Walk()
    run = "20221003T1030-ghost-1"
    walk.write("agent", RunStarted("scripted", SLOT, SESSION, ()), run, book="ghost", run=run)
    draft = decide(walk.state, Owed("gate", "BookValued", run, "ghost", run))

    assert draft is not None
    assert draft.data == RunStopped(RunStatus.HALTED, "the book ghost is not open")


@pytest.mark.parametrize(
    ("closes_at", "is_open", "status"),
    [
        ("2022-10-03T14:45:00.000000Z", True, None),
        ("2022-10-03T14:44:59.999999Z", True, RunStatus.MARKET_CLOSED),
        (CLOSE, False, RunStatus.MARKET_CLOSED),
    ],
)
def test_a_run_is_stopped_when_every_exchange_is_closed_or_has_under_15_minutes_left(
    closes_at: str, is_open: bool, status: RunStatus | None
) -> None:
    data = cleared(Walk().seen(closes_at=closes_at, is_open=is_open))

    assert (data.status if isinstance(data, RunStopped) else None) == status


def test_a_closed_market_comes_before_the_order_limit_and_a_halt_before_both() -> None:
    walk = Walk(limited(max_trades_per_month=0)).seen(is_open=False)
    data = cleared(walk)
    walk.write("executor", HaltOrdered("alpha", "full", False, "stop"), "h1", book="alpha")

    assert isinstance(data, RunStopped)
    assert data.status is RunStatus.MARKET_CLOSED
    assert walk.decided().data == RunStopped(RunStatus.HALTED, "full halt: stop")


@pytest.mark.parametrize(("held", "exempt", "stopped"), [(False, True, True), (True, True, False), (True, False, True)])
def test_a_used_up_month_stops_a_run_unless_an_exit_may_still_come(held: bool, exempt: bool, stopped: bool) -> None:
    walk = Walk(limited(max_trades_per_month=0, exits_exempt=exempt))
    data = cleared((holding(walk) if held else walk).seen())

    assert isinstance(data, RunStopped) is stopped
    assert not isinstance(data, RunStopped) or data.status is RunStatus.ORDER_LIMIT_REACHED


@pytest.mark.parametrize(
    ("names", "prices", "stopped"),
    [
        (("AAA:USD", "BBB:USD"), {}, True),
        (("AAA:USD", "BBB:USD"), {"AAA": "-1", "BBB": "0"}, True),
        (("AAA:USD", "BBB:USD"), {"BBB": "50"}, False),
        ((), {}, False),
    ],
)
def test_a_run_is_stopped_when_all_prices_are_missing(names: tuple[str, ...], prices: dict[str, str], stopped: bool) -> None:
    data = cleared(Walk(names=names).seen(prices))

    assert isinstance(data, RunStopped) is stopped
    assert not isinstance(data, RunStopped) or data.status is RunStatus.MARKET_DATA_UNAVAILABLE


def test_a_proposal_is_judged_on_the_evidence_taken_for_it_alone() -> None:
    # the run saw BBB at 50, the verdict's evidence has only AAA
    walk = Walk().proposed(buy(), buy("BBB", "1", "50"), prices={"AAA": "100"})
    draft = walk.decided()
    data = draft.data

    assert isinstance(data, Verdict)
    assert (draft.id, draft.cause) == (f"gate:Verdict:{walk.run}", f"{EVIDENCE}:2")
    assert (data.kind, data.policy_hash, data.rules, data.evidence) == ("proposal", "p", RULES_VERSION, (f"{EVIDENCE}:2",))
    first, second = data.decisions
    assert (first.approved, first.order, str(first.notional), str(first.commission)) == (True, f"{walk.run}-1", "1000", "1")
    assert [reason.rule for reason in second.reasons] == [Rule.QUOTE]
    assert (str(data.value), str(data.drawdown_pct), data.block) == ("10000", "0", ())


@pytest.mark.parametrize(
    ("closes_at", "until"),
    [
        (None, "14:35:00.000000"),
        ("14:36:00.000001", "14:35:00.000000"),
        ("14:36:00.000000", "14:35:00.000000"),
        ("14:35:59.999999", "14:34:59.999999"),
    ],
)
def test_a_verdict_is_valid_for_300_s_and_never_in_the_last_minute_before_the_close(closes_at: str | None, until: str) -> None:
    close = None if closes_at is None else parse(f"2022-10-03T{closes_at}Z")

    assert valid_until(parse(SLOT), close) == f"2022-10-03T{until}Z"


def test_a_verdict_says_until_when_it_is_valid() -> None:
    data = Walk().proposed(buy()).decided().data

    assert isinstance(data, Verdict)
    assert data.valid_until == "2022-10-03T14:35:00.000000Z"


def test_an_empty_proposal_gets_a_verdict_without_decisions() -> None:
    walk = Walk().proposed()
    data = walk.decided().data

    assert isinstance(data, Verdict)
    assert (data.decisions, data.valid_until) == ((), "2022-10-03T14:35:00.000000Z")
    walk.take()
    assert walk.state.runs[walk.run].verdict is not None


def test_an_approval_is_folded_into_reservation_and_count() -> None:
    walk = Walk().proposed(buy(quantity="10"))
    walk.take()
    (order,) = walk.state.books["alpha"].orders.values()

    assert (order.id, str(order.quantity), str(order.limit), str(order.fx)) == (f"{walk.run}-1", "10", "100", "1")
    assert walk.state.books["alpha"].month.used == 1


def test_a_block_stands_in_the_verdict() -> None:
    walk = Walk().proposed(buy())
    walk.write("executor", HaltOrdered("_desk", "full", False, "stop"), "h1")
    data = walk.decided().data

    assert isinstance(data, Verdict)
    assert [reason.rule for reason in data.block] == [Rule.HALT]
    assert [decision.approved for decision in data.decisions] == [False]


def test_the_close_values_a_book_without_moving_its_peak() -> None:
    walk = holding(Walk()).seen()
    walk.take()
    walk.of_run("gate", RunStopped(RunStatus.HALTED, "over"))
    walk.of_run("agent", RunEnded(RunStatus.HALTED, "over"))
    before = walk.state.books["alpha"]
    walk.closing({"AAA": "500"})
    draft = walk.decided()
    data = draft.data

    assert isinstance(data, BookValued)
    assert (draft.id, draft.run, draft.cause) == (
        "gate:BookValued:alpha-20221003T200000Z",
        None,
        "executor:MarketObserved:_desk-20221003T200000Z",
    )
    assert (data.purpose, str(data.value), data.peak, data.previous, data.quoted) == (
        "close",
        "13999",
        before.peak,
        before.previous,
        before.quoted,
    )


def test_the_hash_follows_the_last_valuation_of_a_session() -> None:
    walk = Walk()
    walk.of_run("agent", RunEnded(RunStatus.ERROR, ""))
    walk.closing({})
    walk.take()
    draft = walk.decided()

    assert draft.data == StateHashed(SESSION, state_hash(walk.state))
    assert (draft.id, draft.book) == (f"gate:StateHashed:{SESSION}", "_desk")


def test_the_peak_follows_the_runs_of_the_log() -> None:
    walk = holding(Walk()).seen({"AAA": "300", "BBB": "50"})
    walk.take()
    assert (str(walk.state.books["alpha"].peak), str(walk.state.books["alpha"].previous)) == ("10000", "11999")
    walk.of_run("gate", RunStopped(RunStatus.HALTED, "over"))
    walk.of_run("agent", RunEnded(RunStatus.HALTED, "over"))

    walk.clock("slot", "2022-10-04T14:30:00.000000Z", ("alpha",), session="2022-10-04")
    walk.run = "20221004T1030-alpha-1"
    walk.of_run("agent", RunStarted("scripted", "2022-10-04T14:30:00.000000Z", "2022-10-04", ("AAA:USD",)))
    walk.seen({"AAA": "200"}, closes_at="2022-10-04T20:00:00.000000Z")
    walk.take()

    # 8999 + 2000, the smaller of the two
    assert str(walk.state.books["alpha"].peak) == "10999"


def dry_at_half_the_price() -> Walk:
    """A dry run of a book whose 90 shares of AAA, bought at 100, cost half of that: 999 + 4500 of 10,000 are left."""
    walk = Walk(limited(drawdown_confirmations=1), dry=True)
    return holding(walk, quantity="90").seen({"AAA": "50", "BBB": "50"})


def test_a_dry_run_in_a_crash_is_cleared_with_buying_blocked_and_neither_trips_nor_moves_the_peak() -> None:
    walk = dry_at_half_the_price()
    before = walk.state.books
    valued = walk.take()
    data = valued.expect(BookValued)
    assert (data.value, data.drawdown_pct, data.previous, data.quoted) == (Exact(5499), Exact("45.01"), None, "")
    assert walk.take().expect(RunCleared).buys_blocked == ("drawdown",)
    assert (valued.envelope.mode, walk.state.books) == ("dry", before)


def test_a_dry_verdict_judges_with_the_limits_in_force_and_counts_and_reserves_nothing() -> None:
    walk = Walk(limited(max_trades_per_month=1), dry=True).proposed(buy(), buy("BBB", limit="50"))
    before = walk.state.books
    verdict = walk.take()
    decisions = verdict.expect(Verdict).decisions
    assert [row.approved for row in decisions] == [True, False]
    assert [why.rule for why in decisions[1].reasons] == [Rule.MONTHLY_ORDERS]
    assert (verdict.envelope.mode, walk.state.books, walk.state.approvals) == ("dry", before, {})


def test_a_dry_run_is_judged_on_its_own_reconciliation() -> None:
    walk = Walk(dry=True).seen(failed=True)
    walk.take()
    assert walk.take().expect(RunCleared).buys_blocked == ("reconciliation",)
    assert not walk.state.account.failed


def test_a_halt_stops_a_dry_run_as_any_other() -> None:
    walk = Walk(dry=True).seen()
    walk.write("desk", HaltOrdered("alpha", "full", False, "by hand"), "r1", book="alpha")
    assert walk.take().type == "BookValued"
    stopped = walk.take()
    assert (stopped.expect(RunStopped).status, stopped.envelope.mode) == (RunStatus.HALTED, "dry")
