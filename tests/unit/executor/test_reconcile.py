"""Whether the broker's account is what the ledgers add up to."""

import pytest

from services.executor.broker import BrokerOrder, OrderStatus
from services.executor.reconcile import MAX_DIFFERENCES, Picture, log_lost, reconcile
from shared.ledger.state import State
from shared.protocol.events import AccountBaselined, AccountReconciled, AdjustmentBooked, Difference, ReconciliationFailed
from shared.protocol.market import Order
from shared.protocol.money import Exact
from tests.support.scribe import CLOSE, SLOT, Scribe
from tests.unit.executor.given import BUY, SELL, approved, desk, execution, holding, intend, order_of, place

ACCOUNT = "DU1234567"
CASH = {"USD": Exact(1_000_000)}


def picture(**parts: object) -> Picture:
    """An account with nothing in it but a million, changed by `parts`."""
    fields: dict[str, object] = {"account": ACCOUNT, "cash": CASH, "positions": {}, "open_orders": (), "executions": ()}
    fields["net_liquidation"] = Exact(1_000_000)
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


@pytest.mark.parametrize(("found", "gap"), [("999998.99", "-1.01"), ("1000001.01", "1.01")])
def test_cash_over_the_tolerance_that_nothing_explains_is_listed_and_in_no_book(found: str, gap: str):
    state = reconciled(desk("eq")).state
    result = reconcile(state, picture(cash={"USD": Exact(found)}))
    assert isinstance(result, AccountReconciled)
    assert (result.cash, result.unattributed) == ({"USD": Exact(found)}, {"USD": Exact(gap)})


def test_cash_that_nothing_explains_adds_up_until_it_is_adopted():
    scribe = reconciled(desk("eq"))
    for found, total in (("1000010", "10"), ("1000025", "25")):
        result = reconcile(scribe.state, picture(cash={"USD": Exact(found)}))
        assert isinstance(result, AccountReconciled)
        assert result.unattributed == {"USD": Exact(total)}
        scribe.write("executor", result, f"at {found}")
    scribe.write("desk", AdjustmentBooked("interest", "USD", Exact(25), "paid"), "r1")
    result = reconcile(scribe.state, picture(cash={"USD": Exact(1_000_025)}))
    assert isinstance(result, AccountReconciled)
    assert result.unattributed == {}


@pytest.mark.parametrize(("found", "fails"), [("1005000", False), ("1005000.01", True), ("995000", False), ("994999.99", True)])
def test_unexplained_cash_of_exactly_the_drift_passes_and_over_it_fails_with_every_line(found: str, fails: bool):
    """0.5 % of an account worth 1,000,000."""
    cash = {"USD": Exact(found)}
    result = reconcile(reconciled(desk("eq")).state, picture(cash=cash, net_liquidation=Exact(1_000_000)))
    assert isinstance(result, ReconciliationFailed) is fails
    if isinstance(result, ReconciliationFailed):
        gap = str(abs(Exact(found) - 1_000_000))
        assert [(line.what, line.found) for line in result.differences] == [("cash USD", found), ("unattributed cash", gap)]
        assert (result.cash, result.positions, result.final) == (cash, {}, False)


def test_unexplained_cash_of_another_currency_counts_at_its_rate_and_without_one_is_too_much():
    """3,334 AUD at 1.5 are 5,001 of at most 5,000."""
    state = reconciled(desk("eq")).state
    cash = {**CASH, "AUD": Exact(3334)}
    for rates, what in (({"AUD": Exact("1.5")}, "unattributed cash"), ({}, "rate of AUD")):
        found = lines(state, cash=cash, rates=rates)
        assert [row[0] for row in found] == ["cash AUD", what]
    assert lines(state, cash=cash, rates={"AUD": Exact("1.4997")}) == []


def test_unexplained_cash_is_too_much_while_the_accounts_worth_is_unknown():
    found = lines(reconciled(desk("eq")).state, cash={"USD": Exact(999_990)}, net_liquidation=None)
    assert [row[0] for row in found] == ["cash USD", "net liquidation"]


def test_cash_that_moves_with_a_missing_share_is_a_difference_like_the_share():
    scribe = reconciled(desk("eq"))
    holding(scribe, "eq", "AAA", "10", "50")
    found = lines(scribe.state, positions={"AAA:USD": Exact(9)}, cash={"USD": Exact(999_549)})
    assert found == [("position AAA:USD", "10", "9"), ("cash USD", "999499", "999549")]


def test_what_an_order_at_the_broker_explains_is_pending_in_shares_and_cash():
    scribe = reconciled(desk("eq"))
    order = order_of(scribe, approved(scribe, "eq", ("AAA", BUY, "10", "50")), 1)
    place(scribe, order, "working")
    result = reconcile(scribe.state, picture(positions={"AAA:USD": Exact(4)}, cash={"USD": Exact(999_799)}))
    assert isinstance(result, AccountReconciled)
    assert (result.pending, result.awaited, result.unattributed) == ((order.id,), {"USD": Exact(-201)}, {})
    scribe.write("executor", result, "later")
    assert scribe.state.account.cash == {"USD": Exact(1_000_000)}


def test_more_than_the_order_can_explain_or_the_other_way_round_is_a_difference():
    scribe = reconciled(desk("eq"))
    holding(scribe, "eq", "AAA", "20", "50")
    order = order_of(scribe, approved(scribe, "eq", ("AAA", BUY, "10", "50")), 1)
    place(scribe, order, "working")
    for found in ("31", "19"):
        assert lines(scribe.state, positions={"AAA:USD": Exact(found)})[0][0] == "position AAA:USD"


def test_an_order_that_was_not_sent_explains_nothing():
    scribe = reconciled(desk("eq"))
    approved(scribe, "eq", ("AAA", BUY, "10", "50"))
    assert lines(scribe.state, positions={"AAA:USD": Exact(4)}) == [("position AAA:USD", "0", "4")]


def test_cash_moves_with_fills_and_fees_since_the_last_reconciliation():
    # 1,000,000 − 10 × 50 − 1 = 999,499
    scribe = reconciled(desk("eq"))
    holding(scribe, "eq", "AAA", "10", "50")
    held = {"AAA:USD": Exact(10)}
    result = reconcile(scribe.state, picture(cash={"USD": Exact(999_499)}, positions=held))
    assert isinstance(result, AccountReconciled)
    assert result.unattributed == {}
    result = reconcile(scribe.state, picture(cash=CASH, positions=held))
    assert isinstance(result, AccountReconciled)
    assert result.unattributed == {"USD": Exact(501)}


def test_baselined_shares_belong_to_no_book_and_are_expected():
    scribe = reconciled(desk("eq"))
    holding(scribe, "eq", "AAA", "10", "50")
    scribe.write("desk", AccountBaselined(ACCOUNT, {"AAA:USD": Exact(5)}, {"USD": Exact(7)}, "mine"), "r1")
    assert lines(scribe.state, positions={"AAA:USD": Exact(15)}, cash={"USD": Exact(7)}) == []
    assert lines(scribe.state, positions={"AAA:USD": Exact(10)}, cash={"USD": Exact(7)}) == [("position AAA:USD", "15", "10")]


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
