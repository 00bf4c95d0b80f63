"""Which approved order is sent next, which waits for cash, which is withheld."""

import pytest

from services.executor.orders import CancelFirst, Hold, Send, Withhold, next_to_send, uncommitted_cash
from shared.ledger.state import Run
from shared.protocol.events import CancelOrdered, HaltOrdered, HaltReset, MarketObserved
from shared.protocol.ids import DESK_BOOK
from shared.protocol.market import ExchangeSession, Instrument, Side
from shared.protocol.money import Exact
from shared.protocol.policy import Limits, Policy
from shared.protocol.reasons import OrderEnd, Withheld
from tests.support.scribe import CLOSE, OPEN, SESSION, SLOT, Scribe
from tests.unit.executor.given import (
    BUY,
    CENT,
    OPEN_SESSION,
    SELL,
    approved,
    close,
    desk,
    holding,
    intend,
    order_of,
    place,
    withhold,
)

BEFORE_SLOT = "2022-10-03T14:29:59.999999Z"


def sent(scribe: Scribe, run: Run) -> int | None:
    """The index of the order to be sent, None if none is."""
    decision = next_to_send(scribe.state, scribe.state.runs[run.id])
    return decision.order.index if isinstance(decision, Send) else None


def withheld(scribe: Scribe, run: Run) -> tuple[int, Withheld]:
    """The order withheld and why."""
    decision = next_to_send(scribe.state, scribe.state.runs[run.id])
    assert isinstance(decision, Withhold), decision
    return decision.order.index, decision.reason


def holds(scribe: Scribe, run: Run) -> bool:
    return isinstance(next_to_send(scribe.state, scribe.state.runs[run.id]), Hold)


def test_sells_go_first_in_the_order_of_the_decisions():
    scribe = desk("eq")
    holding(scribe, "eq", "AAA", "10", "50")
    holding(scribe, "eq", "BBB", "10", "50")
    run = approved(scribe, "eq", ("CCC", BUY, "1", "50"), ("BBB", SELL, "10", "49"), ("AAA", SELL, "10", "49"))
    assert sent(scribe, run) == 2
    place(scribe, order_of(scribe, run, 2), "working")
    assert sent(scribe, run) == 3


def test_a_buy_that_cash_covers_goes_at_once_while_a_sell_rests():
    scribe = desk("eq")
    holding(scribe, "eq", "AAA", "10", "50")
    run = approved(scribe, "eq", ("AAA", SELL, "10", "49"), ("BBB", BUY, "10", "50"))
    place(scribe, order_of(scribe, run, 1), "working")
    assert sent(scribe, run) == 2


def test_a_buy_that_cash_covers_goes_before_one_that_waits_for_a_sell():
    # 10,000 − 100 × 90 − 1 = 999 in cash. BUY 90 at 100 + 1 = 9,001 waits, BUY 10 at 50 + 1 = 501 does not.
    scribe = desk("eq")
    holding(scribe, "eq", "AAA", "100", "90")
    run = approved(scribe, "eq", ("AAA", SELL, "100", "89"), ("BBB", BUY, "90", "100"), ("CCC", BUY, "10", "50"))
    place(scribe, order_of(scribe, run, 1), "done")
    assert sent(scribe, run) == 3


@pytest.mark.parametrize("stage", ["intended", "done"])
def test_an_uncovered_buy_waits_while_a_sell_is_in_flight(stage: str):
    scribe = desk("eq")
    holding(scribe, "eq", "AAA", "100", "90")
    run = approved(scribe, "eq", ("AAA", SELL, "100", "89"), ("BBB", BUY, "90", "100"))
    sell = order_of(scribe, run, 1)
    intend(scribe, sell) if stage == "intended" else place(scribe, sell, "done")
    assert holds(scribe, run)


def test_an_uncovered_buy_goes_once_the_sell_has_paid_for_it():
    # 999 + 100 × 90 − 1 = 9,998 covers 9,001.
    scribe = desk("eq")
    holding(scribe, "eq", "AAA", "100", "90")
    run = approved(scribe, "eq", ("AAA", SELL, "100", "89"), ("BBB", BUY, "90", "100"))
    sell = order_of(scribe, run, 1)
    place(scribe, sell, "done")
    scribe.fill(sell.id, "e1", "AAA", SELL, "100", "90")
    close(scribe, sell)
    assert sent(scribe, run) == 2


@pytest.mark.parametrize("end", ["rests", "ended"])
def test_what_settled_cash_does_not_cover_is_withheld_as_unfunded(end: str):
    scribe = desk("eq")
    holding(scribe, "eq", "AAA", "100", "90")
    run = approved(scribe, "eq", ("AAA", SELL, "100", "89"), ("BBB", BUY, "90", "100"), ("CCC", BUY, "91", "100"))
    sell = order_of(scribe, run, 1)
    place(scribe, sell, "working")
    if end == "ended":
        close(scribe, sell, OrderEnd.EXPIRED)
    assert withheld(scribe, run) == (2, Withheld.UNFUNDED)
    withhold(scribe, order_of(scribe, run, 2))
    assert withheld(scribe, run) == (3, Withheld.UNFUNDED)


@pytest.mark.parametrize(("deposit", "goes"), [("9901", True), ("9900.99", False)])
def test_cash_covers_a_buy_up_to_the_last_cent(deposit: str, goes: bool):
    # 99 × 100 + 1 = 9,901
    scribe = desk("eq", deposit=deposit)
    run = approved(scribe, "eq", ("BBB", BUY, "99", "100"))
    if goes:
        assert sent(scribe, run) == 1
    else:
        assert withheld(scribe, run) == (1, Withheld.UNFUNDED)


def test_a_sent_buy_holds_its_cash_back_until_it_ends():
    # 10,000 − (60 × 100 + 1) = 3,999 are left; 40 × 100 + 1 = 4,001 do not fit, until the first one filled cheaper.
    scribe = desk("eq")
    run = approved(scribe, "eq", ("AAA", BUY, "60", "100"), ("BBB", BUY, "40", "100"))
    first = order_of(scribe, run, 1)
    place(scribe, first, "done")
    assert uncommitted_cash(scribe.state.books["eq"]) == Exact(3999)
    assert holds(scribe, run)
    scribe.fill(first.id, "e1", "AAA", BUY, "60", "99")
    close(scribe, first)
    assert uncommitted_cash(scribe.state.books["eq"]) == Exact(4059)
    assert sent(scribe, run) == 2


def test_a_resting_buy_goes_on_holding_its_cash_back():
    scribe = desk("eq")
    run = approved(scribe, "eq", ("AAA", BUY, "60", "100"), ("BBB", BUY, "40", "100"))
    place(scribe, order_of(scribe, run, 1), "working")
    assert withheld(scribe, run) == (2, Withheld.UNFUNDED)


def test_a_partly_filled_buy_holds_back_what_is_left_of_it():
    # 100 of 200 filled at 10: cash 10,000 − 1,000 − 1 = 8,999; the rest holds 100 × 10 + 1 = 1,001 back.
    scribe = desk("eq")
    run = approved(scribe, "eq", ("AAA", BUY, "200", "10"))
    order = order_of(scribe, run, 1)
    place(scribe, order, "working")
    scribe.fill(order.id, "e1", "AAA", BUY, "100", "10")
    assert uncommitted_cash(scribe.state.books["eq"]) == Exact(7998)


def test_a_buy_whose_commission_is_unknown_is_not_sent():
    scribe = desk("eq", policy=Policy("USD", Limits(), universe=(Instrument("AAA", "SMART", "USD"),)))
    run = approved(scribe, "eq", ("AAA", BUY, "1", "10"))
    assert withheld(scribe, run) == (1, Withheld.UNFUNDED)


def test_an_order_cancelled_before_it_was_sent_is_withheld_as_cancelled():
    scribe = desk("eq")
    run = approved(scribe, "eq", ("AAA", BUY, "1", "10"), ("BBB", BUY, "1", "10"))
    scribe.write("desk", CancelOrdered(f"{run.id}-2", "mistake"), "request-1")
    assert withheld(scribe, run) == (2, Withheld.CANCELLED)


@pytest.mark.parametrize("scope", [DESK_BOOK, "eq"])
def test_a_full_halt_withholds_every_order(scope: str):
    scribe = desk("eq")
    holding(scribe, "eq", "AAA", "10", "50")
    run = approved(scribe, "eq", ("AAA", SELL, "10", "49"), ("BBB", BUY, "1", "10"))
    scribe.write("desk", HaltOrdered(scope, "full", False, "drill"), "request-1", book=scope)
    assert withheld(scribe, run) == (1, Withheld.HALT)


def test_a_reduce_only_halt_withholds_buys_and_lets_sells_out():
    scribe = desk("eq")
    holding(scribe, "eq", "AAA", "10", "50")
    run = approved(scribe, "eq", ("AAA", SELL, "10", "49"), ("BBB", BUY, "1", "10"))
    scribe.write("desk", HaltOrdered(DESK_BOOK, "reduce_only", False, "drill"), "request-1")
    assert withheld(scribe, run) == (2, Withheld.HALT)
    withhold(scribe, order_of(scribe, run, 2))
    assert sent(scribe, run) == 1


def test_a_buy_that_would_meet_an_exit_sent_after_its_approval_is_withheld():
    scribe = desk("eq", "mo")
    holding(scribe, "eq", "AAA", "10", "50")
    entry = approved(scribe, "mo", ("AAA", BUY, "1", "49"), ("AAA", BUY, "1", "48"))
    scribe.write("desk", HaltOrdered("eq", "full", True, "drill"), "request-1", book="eq")
    run = liquidation(scribe, ("AAA", SELL, "10", "49"))
    place(scribe, order_of(scribe, run, 1), "working")
    assert withheld(scribe, entry) == (1, Withheld.SELF_TRADE)
    withhold(scribe, order_of(scribe, entry, 1))
    assert sent(scribe, entry) == 2


def test_another_books_halt_stops_nothing_here():
    scribe = desk("eq", "mo")
    run = approved(scribe, "eq", ("BBB", BUY, "1", "10"))
    scribe.write("desk", HaltOrdered("mo", "full", False, "drill"), "request-1", book="mo")
    assert sent(scribe, run) == 1


def test_a_halt_does_not_stop_the_liquidation_that_it_causes():
    scribe = desk("eq")
    holding(scribe, "eq", "AAA", "10", "50")
    scribe.write("desk", HaltOrdered("eq", "full", True, "drill"), "request-1", book="eq")
    run = liquidation(scribe, ("AAA", SELL, "10", "49"))
    assert sent(scribe, run) == 1


def test_a_halt_that_comes_during_a_liquidation_stops_what_was_approved_before_it():
    scribe = desk("eq")
    holding(scribe, "eq", "AAA", "10", "50")
    scribe.write("desk", HaltOrdered("eq", "full", True, "drill"), "request-1", book="eq")
    run = liquidation(scribe, ("AAA", SELL, "10", "49"))
    scribe.write("desk", HaltOrdered("eq", "full", True, "again"), "request-2", book="eq")
    assert withheld(scribe, run) == (1, Withheld.HALT)


def test_an_approval_from_before_a_halt_is_withheld_even_if_the_halt_was_lifted_since():
    scribe = desk("eq")
    run = approved(scribe, "eq", ("BBB", BUY, "1", "10"))
    scribe.write("desk", HaltOrdered("eq", "full", False, "drill"), "request-1", book="eq")
    scribe.write("desk", HaltReset("eq", "over"), "request-2", book="eq")
    assert withheld(scribe, run) == (1, Withheld.HALT)


def liquidation(scribe: Scribe, *orders: tuple[str, Side, str, str]) -> Run:
    """A run that the desk caused, its SELLs approved."""
    run = scribe.cause("eq", MarketObserved("liquidation", (), dict(CENT), {}, {"SMART": OPEN_SESSION}))
    scribe.approve(run, *orders, kind="liquidation")
    return scribe.state.runs[run]


@pytest.mark.parametrize(("valid_until", "goes"), [(SLOT, True), (BEFORE_SLOT, False)])
def test_a_verdict_holds_up_to_its_last_moment(valid_until: str, goes: bool):
    scribe = desk("eq")
    run = approved(scribe, "eq", ("AAA", BUY, "1", "10"), valid_until=valid_until)
    if goes:
        assert sent(scribe, run) == 1
    else:
        assert withheld(scribe, run) == (1, Withheld.STALE)


@pytest.mark.parametrize(
    "sessions",
    [
        {},
        {"ASX": ExchangeSession(True, SESSION, OPEN, CLOSE)},
        {"SMART": ExchangeSession(False, SESSION, OPEN, CLOSE)},
        {"SMART": ExchangeSession(True, SESSION, OPEN, SLOT)},
    ],
    ids=["unknown", "another exchange's", "closed", "closes now"],
)
def test_nothing_is_sent_to_an_exchange_that_the_evidence_does_not_show_open(sessions: dict[str, ExchangeSession]):
    scribe = desk("eq")
    run = approved(scribe, "eq", ("AAA", BUY, "1", "10"), sessions=sessions)
    assert withheld(scribe, run) == (1, Withheld.CLOSED)


def test_a_held_share_that_left_the_universe_without_an_exchange_is_not_sent_anywhere():
    scribe = desk("eq")
    holding(scribe, "eq", "DDD", "10", "50")
    run = approved(scribe, "eq", ("DDD", SELL, "10", "49"))
    assert withheld(scribe, run) == (1, Withheld.UNQUALIFIED)


def test_an_order_without_a_known_tick_is_withheld():
    scribe = desk("eq")
    run = approved(scribe, "eq", ("AAA", BUY, "1", "10"), ticks={})
    assert withheld(scribe, run) == (1, Withheld.NO_TICK)


@pytest.mark.parametrize(("side", "limit"), [(BUY, "50.01"), (SELL, "50.02")])
def test_a_limit_between_two_ticks_is_rounded_away_from_the_market(side, limit: str):
    scribe = desk("eq")
    holding(scribe, "eq", "AAA", "10", "50")
    run = approved(scribe, "eq", ("AAA", side, "10", "50.015"))
    decision = next_to_send(scribe.state, run)
    assert isinstance(decision, Send)
    assert decision.limit == Exact(limit)


@pytest.mark.parametrize(("limit", "beaten"), [("50", True), ("49.99", True), ("50.01", False)])
def test_an_exit_beats_a_resting_entry_of_another_book_that_it_would_trade_with(limit: str, beaten: bool):
    scribe = desk("mo", "eq")
    entry = order_of(scribe, approved(scribe, "mo", ("AAA", BUY, "5", "50")), 1)
    place(scribe, entry, "working")
    holding(scribe, "eq", "AAA", "10", "50")
    run = approved(scribe, "eq", ("AAA", SELL, "10", limit))
    decision = next_to_send(scribe.state, run)
    if not beaten:
        assert sent(scribe, run) == 1
        return
    assert isinstance(decision, CancelFirst)
    assert decision.order.id == entry.id
    close(scribe, entry, OrderEnd.CANCELLED)
    assert sent(scribe, run) == 1


def test_the_entry_that_the_verdict_names_is_cancelled_first():
    scribe = desk("mo", "eq")
    entry = order_of(scribe, approved(scribe, "mo", ("AAA", BUY, "5", "40")), 1)
    place(scribe, entry, "working")
    holding(scribe, "eq", "AAA", "10", "50")
    run = approved(scribe, "eq", ("AAA", SELL, "10", "50"), crosses=entry.id)
    assert isinstance(next_to_send(scribe.state, run), CancelFirst)


def test_an_exit_waits_for_an_entry_whose_result_is_not_known_yet():
    scribe = desk("mo", "eq")
    entry = order_of(scribe, approved(scribe, "mo", ("AAA", BUY, "5", "50")), 1)
    intend(scribe, entry)
    holding(scribe, "eq", "AAA", "10", "50")
    assert holds(scribe, approved(scribe, "eq", ("AAA", SELL, "10", "50")))


def test_nothing_is_left_to_send_once_every_order_was_sent():
    scribe = desk("eq")
    run = approved(scribe, "eq", ("AAA", BUY, "1", "10"))
    place(scribe, order_of(scribe, run, 1), "working")
    assert holds(scribe, run)
