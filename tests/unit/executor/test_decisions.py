"""What the executor's facts are about, and what they say."""

import pytest

from services.executor import decisions
from services.executor.broker import BrokerOrder, Observation, OrderStatus
from services.executor.orders import Send
from services.executor.service import in_order
from shared.ledger.hashing import state_hash
from shared.ledger.owed import owed
from shared.protocol.events import HaltOrdered, OrderClosed, OrderPlaced, ProposalMade, RunSettled, StateHashed
from shared.protocol.ids import DESK_BOOK
from shared.protocol.market import Order, ProposedOrder
from shared.protocol.money import Exact
from shared.protocol.reasons import OrderEnd, StopReason
from tests.support.scribe import CLOSE, SESSION, SLOT, Scribe
from tests.unit.executor.given import BUY, SELL, approved, close, desk, holding, intend, order_of, place, quote, withhold

RUN = "20221003T1030-eq-1"
NOTHING = Observation((), {}, {}, {})


def at_broker(order: str, status: OrderStatus, filled: str = "0", message: str = "") -> BrokerOrder:
    return BrokerOrder("17", order, Order("AAA", "USD", BUY, Exact(10), Exact(50)), status, Exact(filled), message)


def test_facts_of_an_order_are_about_the_order_and_follow_from_one_another():
    scribe = desk("eq")
    run = approved(scribe, "eq", ("AAA", BUY, "10", "50.019"))
    order = order_of(scribe, run, 1)
    draft = decisions.intended(scribe.state, run, Send(order, "SMART", Exact("50.01")))
    assert (draft.id, draft.book, draft.run, draft.at) == (f"executor:OrderIntended:{RUN}-1", "eq", RUN, SLOT)
    assert (draft.as_of, draft.cause) == (scribe.state.seq, f"gate:Verdict:{RUN}")
    placed = decisions.placed(scribe.state, run, order, at_broker(order.id, OrderStatus.WORKING))
    assert (placed.id, placed.cause) == (f"executor:OrderPlaced:{RUN}-1", f"executor:OrderIntended:{RUN}-1")
    assert placed.data == OrderPlaced(order.id, "17", "working")


@pytest.mark.parametrize("status", [OrderStatus.FILLED, OrderStatus.CANCELLED, OrderStatus.REJECTED, OrderStatus.EXPIRED])
def test_an_order_that_ended_is_placed_as_done_and_closed_with_its_end(status: OrderStatus):
    scribe = desk("eq")
    run = approved(scribe, "eq", ("AAA", BUY, "10", "50"))
    order = order_of(scribe, run, 1)
    found = at_broker(order.id, status, message="the broker's words\x00")
    placed = decisions.placed(scribe.state, run, order, found).data
    closed = decisions.closed(scribe.state, run, order, found).data
    assert isinstance(placed, OrderPlaced)
    assert placed.status == "done"
    assert closed == OrderClosed(order.id, OrderEnd(status.value), Exact(0), "the broker's words")


def test_the_broker_is_asked_for_wanted_held_and_working_names_before_a_run():
    scribe = desk("eq", "mo")
    holding(scribe, "eq", "CCC", "1", "10")
    holding(scribe, "mo", "ZZZ", "1", "10")
    run = approved(scribe, "eq", ("BBB", BUY, "1", "10"))
    assert decisions.run_names(scribe.state, run) == ("AAA:USD", "BBB:USD", "CCC:USD")


def test_a_source_that_wants_prices_of_what_can_be_no_name_is_not_waited_for():
    scribe = desk("eq")
    run = scribe.start_run("eq", names=("AAA:USD", "", "AAA", "ev.>:USD", "X" * 5000, ":USD", "B\n:USD"))
    assert decisions.run_names(scribe.state, scribe.state.runs[run]) == ("AAA:USD",)


def test_the_broker_is_asked_only_for_proposed_names_that_can_be_names():
    scribe = desk("eq")
    holding(scribe, "eq", "CCC", "1", "10")
    run = scribe.start_run("eq")
    texts = (
        ("BRK B", "USD"),
        ("A\nB", "USD"),
        ("", "USD"),
        ("AAA", "usd"),
        ("AAA", ""),
        ("A" * 33, "USD"),
        ("ZZZZ", "USD"),
        ("A:B", "USD"),
    )
    orders = tuple(ProposedOrder(symbol, currency, "BUY", "1", "1") for symbol, currency in texts)
    scribe.write("agent", ProposalMade("scripted", orders, "", StopReason.SUBMITTED), run, book="eq", run=run)
    assert decisions.verdict_names(scribe.state, scribe.state.runs[run]) == ("BRK B:USD", "CCC:USD", "ZZZZ:USD")


def test_observations_of_a_run_are_counted_and_that_of_a_close_step_is_about_its_time():
    scribe = desk("eq")
    run = approved(scribe, "eq")
    assert decisions.run_observed(scribe.state, run, NOTHING).id == f"executor:MarketObserved:{RUN}"
    assert decisions.verdict_observed(scribe.state, run, NOTHING).id == f"executor:MarketObserved:{RUN}:2"
    scribe.clock("close", CLOSE)
    watch = decisions.watch_observed(scribe.state, Observation((quote("AAA", "10"),), {}, {}, {}))
    assert (watch.id, watch.book, watch.run) == ("executor:MarketObserved:_desk-20221003T200000Z", DESK_BOOK, None)


def test_a_settled_run_counts_its_orders_by_their_end():
    scribe = desk("eq")
    run = approved(scribe, "eq", *(("AAA", BUY, "10", "50") for _ in range(4)))
    withhold(scribe, order_of(scribe, run, 1))
    for index, filled in ((2, "10"), (3, "4"), (4, None)):
        order = order_of(scribe, run, index)
        place(scribe, order, "working")
        if filled:
            scribe.fill(order.id, f"e{index}", "AAA", BUY, filled, "50")
        close(scribe, order, OrderEnd.EXPIRED)
    assert decisions.settled(scribe.state, scribe.state.runs[run.id]).data == RunSettled(withheld=1, filled=2, unfilled=1)


def test_the_hash_is_that_of_the_state_behind_the_last_valuation_and_about_the_session():
    scribe = desk("eq")
    scribe.clock("close", CLOSE)
    with pytest.raises(LookupError):
        decisions.hashed(scribe.state)
    scribe.write("executor", decisions.watch_observed(scribe.state, NOTHING).data, "_desk-20221003T200000Z")
    scribe.value("eq", "10000")
    found = state_hash(scribe.state)
    scribe.write("desk", HaltOrdered("eq", "full", False, "too late for this hash"), "request-1")
    draft = decisions.hashed(scribe.state)
    assert draft.id == f"executor:StateHashed:{SESSION}"
    assert draft.data == StateHashed(SESSION, found)
    assert found != state_hash(scribe.state)


def test_unfinished_intents_come_before_everything_else():
    scribe = desk("eq")
    holding(scribe, "eq", "AAA", "10", "50")
    run = approved(scribe, "eq", ("AAA", SELL, "10", "50"), ("BBB", BUY, "1", "10"))
    intend(scribe, order_of(scribe, run, 2))
    assert [(item.type, item.about) for item in in_order(owed(scribe.state))] == [
        ("OrderPlaced", f"{RUN}-2"),
        ("OrderIntended", f"{RUN}-1"),
    ]


def test_the_state_is_hashed_only_after_every_book_was_valued():
    scribe = desk("eq", "mo")
    scribe.clock("close", CLOSE)
    scribe.write("executor", decisions.watch_observed(scribe.state, NOTHING).data, "_desk-20221003T200000Z")
    assert list(in_order(owed(scribe.state))) == []
    scribe.value("eq", "10000")
    scribe.value("mo", "10000")
    assert [item.type for item in in_order(owed(scribe.state))] == ["StateHashed"]


def test_of_a_dry_verdict_no_order_is_sent_and_the_run_is_settled_at_once():
    scribe = Scribe().open_desk("eq")
    scribe.clock("slot", SLOT, ("eq",), dry=("eq",))
    run = scribe.start_run("eq")
    scribe.write("agent", ProposalMade("scripted", (), "", StopReason.SUBMITTED), run, book="eq", run=run)
    scribe.approve(run, ("AAA", BUY, "10", "50"))
    (item,) = in_order(owed(scribe.state))
    draft = decisions.settled(scribe.state, scribe.state.runs[run])
    assert (item.type, draft.data, draft.mode) == ("RunSettled", RunSettled(0, 0, 0), "dry")
