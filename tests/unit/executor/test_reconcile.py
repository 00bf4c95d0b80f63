"""Whether the broker's account is what the ledgers add up to."""

import pytest

from services.executor.broker import BrokerOrder, OrderStatus
from services.executor.reconcile import MAX_DIFFERENCES, Picture, log_lost, reconcile
from shared.ledger.state import State
from shared.protocol.events import AccountReconciled, Difference, ReconciliationFailed
from shared.protocol.market import Order
from shared.protocol.money import Exact
from tests.support.scribe import CLOSE, SLOT, Scribe
from tests.unit.executor.given import BUY, SELL, approved, desk, execution, holding, intend, order_of, place

ACCOUNT = "DU1234567"
CASH = {"USD": Exact(1_000_000)}


def picture(**parts: object) -> Picture:
    """An account with nothing in it but a million, changed by `parts`."""
    fields: dict[str, object] = {"account": ACCOUNT, "cash": CASH, "positions": {}, "open_orders": (), "executions": ()}
    return Picture(**{**fields, **parts})  # type: ignore[arg-type]


def lines(state: State, **parts: object) -> list[tuple[str, str | None, str | None]]:
    """The differences found, none if all agrees."""
    result = reconcile(state, picture(**parts))
    found = result.differences if isinstance(result, ReconciliationFailed) else ()
    return [(line.what, line.expected, line.found) for line in found]


def reconciled(scribe: Scribe, cash: str = "1000000") -> Scribe:
    """The account's cash as it was when it was last reconciled."""
    scribe.write("executor", AccountReconciled(ACCOUNT, {"USD": Exact(cash)}, {}, ()), "earlier")
    return scribe


def open_order(reference: str, number: int = 1, symbol: str = "AAA") -> BrokerOrder:
    order = Order(symbol, "USD", BUY, Exact(10), Exact(50))
    return BrokerOrder(str(number), reference, order, OrderStatus.WORKING, Exact(0), "")


def test_the_first_reconciliation_takes_the_brokers_cash_as_the_start():
    cash = {"AUD": Exact(7), "USD": Exact(123)}
    assert reconcile(desk("eq").state, picture(cash=cash)) == AccountReconciled(ACCOUNT, cash, {}, ())


@pytest.mark.parametrize("found", ["999999", "1000001"])
def test_a_cash_difference_of_exactly_the_tolerance_passes(found: str):
    assert lines(reconciled(desk("eq")).state, cash={"USD": Exact(found)}) == []


@pytest.mark.parametrize("found", ["999998.99", "1000001.01"])
def test_a_cash_difference_over_the_tolerance_fails_and_is_listed(found: str):
    state = reconciled(desk("eq")).state
    assert lines(state, cash={"USD": Exact(found)}) == [("cash USD", "1000000", found)]


def test_a_currency_that_nobody_expected_is_a_difference():
    state = reconciled(desk("eq")).state
    assert lines(state, cash={**CASH, "AUD": Exact("1.01")}) == [("cash AUD", "0", "1.01")]


def test_cash_moves_with_fills_and_fees_since_the_last_reconciliation():
    # 1,000,000 − 10 × 50 − 1 = 999,499
    scribe = reconciled(desk("eq"))
    holding(scribe, "eq", "AAA", "10", "50")
    held = {"AAA:USD": Exact(10)}
    assert lines(scribe.state, cash={"USD": Exact(999_499)}, positions=held) == []
    assert lines(scribe.state, cash=CASH, positions=held) == [("cash USD", "999499", "1000000")]


def test_positions_are_the_sum_of_all_books():
    scribe = desk("eq", "mo")
    holding(scribe, "eq", "AAA", "10", "50")
    holding(scribe, "mo", "AAA", "5", "50")
    result = reconcile(scribe.state, picture(positions={"AAA:USD": Exact(15)}))
    assert isinstance(result, AccountReconciled)
    assert result.positions == {"AAA:USD": Exact(15)}


def test_every_instrument_that_differs_is_listed_by_key():
    scribe = desk("eq")
    holding(scribe, "eq", "BBB", "10", "50")
    holding(scribe, "eq", "CCC", "10", "50")
    positions = {"AAA:USD": Exact(1), "CCC:USD": Exact(11)}
    assert lines(scribe.state, positions=positions) == [
        ("position AAA:USD", "0", "1"),
        ("position BBB:USD", "10", "0"),
        ("position CCC:USD", "10", "11"),
    ]


@pytest.mark.parametrize("part", ["cash", "positions", "open_orders", "executions", "account"])
def test_a_missing_answer_is_not_an_empty_one(part: str):
    found = lines(desk("eq").state, **{part: None})
    assert found == [(part.replace("_", " "), "a complete answer", None)]


def test_an_open_order_that_the_log_does_not_know_is_a_difference():
    scribe = desk("eq")
    run = approved(scribe, "eq", ("AAA", BUY, "10", "50"))
    unsent = f"{run.id}-1"
    for reference, name in (("", "without reference"), ("by hand", "by hand"), (unsent, unsent)):
        found = lines(scribe.state, open_orders=(open_order(reference, 7),))
        assert found == [(f"open order {name}", "none", "BUY 10 AAA:USD at 50, permanent id 7")]


def test_an_open_order_that_was_sent_is_no_difference():
    scribe = desk("eq")
    run = approved(scribe, "eq", ("AAA", BUY, "10", "50"), ("BBB", BUY, "10", "50"))
    place(scribe, order_of(scribe, run, 1), "working")
    intend(scribe, order_of(scribe, run, 2))
    both = (open_order(f"{run.id}-2", 2, "BBB"), open_order(f"{run.id}-1"))
    result = reconcile(scribe.state, picture(open_orders=both))
    assert isinstance(result, AccountReconciled)
    assert result.open_orders == (f"{run.id}-1", f"{run.id}-2")


def test_a_second_open_order_with_one_of_our_references_is_a_difference():
    scribe = desk("eq")
    run = approved(scribe, "eq", ("AAA", BUY, "10", "50"))
    place(scribe, order_of(scribe, run, 1), "working")
    twice = (open_order(f"{run.id}-1", 1), open_order(f"{run.id}-1", 2))
    assert [what for what, _, _ in lines(scribe.state, open_orders=twice)] == [f"open order {run.id}-1"]


@pytest.mark.parametrize("stage", ["intended", "working", "done"])
def test_executions_not_booked_yet_explain_their_positions_and_cash(stage: str):
    # of 10 the log has 4 at most; the rest, 6 × 50 + 1, is still to be booked
    scribe = reconciled(desk("eq"))
    order = order_of(scribe, approved(scribe, "eq", ("AAA", BUY, "10", "50")), 1)
    intend(scribe, order) if stage == "intended" else place(scribe, order, stage)
    seen = (execution(order.id, 1, "4", "50"), execution(order.id, 2, "6", "50"))
    if stage == "working":
        scribe.fill(order.id, "sim_1", "AAA", BUY, "4", "50")
    parts = {"positions": {"AAA:USD": Exact(10)}, "cash": {"USD": Exact(999_498)}, "executions": seen}
    assert lines(scribe.state, **parts) == []


def test_a_sale_not_booked_yet_explains_its_positions_and_cash():
    # 1,000,000 − 501 + 10 × 51 − 1 = 1,000,008
    scribe = reconciled(desk("eq"))
    holding(scribe, "eq", "AAA", "10", "50")
    order = order_of(scribe, approved(scribe, "eq", ("AAA", SELL, "10", "51")), 1)
    place(scribe, order, "done")
    sold = (execution(order.id, 1, "10", "51", side=SELL),)
    assert lines(scribe.state, cash={"USD": Exact(1_000_008)}, executions=sold) == []


def test_the_list_of_differences_is_bounded_and_says_how_many_more_there_are():
    positions = {f"S{number:03}:USD": Exact(1) for number in range(MAX_DIFFERENCES + 7)}
    found = lines(desk("eq").state, positions=positions)
    assert len(found) == MAX_DIFFERENCES + 1
    assert found[-1] == ("further differences", "0", "7")


def test_a_lost_log_is_said_with_both_times():
    assert log_lost(SLOT, CLOSE).differences == (Difference("desk time", SLOT, CLOSE),)
