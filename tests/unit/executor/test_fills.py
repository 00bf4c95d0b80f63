"""From executions to fills: which are new, and what they do to cash."""

import pytest

from services.executor.broker import BrokerContradiction
from services.executor.fills import fill_settled, unsettled
from shared.ledger.state import LedgerOrder
from shared.protocol.money import Exact, Money
from tests.support.scribe import Scribe
from tests.unit.executor.given import BUY, SELL, approved, desk, execution, holding, order_of, place


def bought(filled: str = "0") -> tuple[Scribe, LedgerOrder]:
    """A BUY of 100 AAA at 10, of which the log has `filled`."""
    scribe = desk("eq")
    run = approved(scribe, "eq", ("AAA", BUY, "100", "10"))
    place(scribe, order_of(scribe, run, 1), "working")
    if filled != "0":
        scribe.fill(f"{run.id}-1", "sim_1", "AAA", BUY, filled, "10")
    return scribe, order_of(scribe, run, 1)


def test_two_equal_partial_fills_with_different_ids_are_two_fills():
    _, order = bought()
    twice = (execution(order.id, 1, "50", "10"), execution(order.id, 2, "50", "10"))
    assert unsettled(order, twice) == twice


def test_a_fill_that_the_log_has_is_not_booked_again():
    _, order = bought(filled="50")
    first, second = execution(order.id, 1, "50", "10"), execution(order.id, 2, "50", "10")
    assert unsettled(order, (first, second)) == (second,)
    assert unsettled(order, (first,)) == ()


def test_executions_of_other_orders_are_left_out():
    _, order = bought()
    assert unsettled(order, (execution("20221003T1030-mo-1-1", 1, "50", "10"),)) == ()


@pytest.mark.parametrize("known", [(), ("40",), ("60",)])
def test_executions_that_do_not_add_up_to_what_the_log_has_are_a_contradiction(known: tuple[str, ...]):
    _, order = bought(filled="50")
    with pytest.raises(BrokerContradiction, match="50 filled"):
        unsettled(order, tuple(execution(order.id, n, quantity, "10") for n, quantity in enumerate(known, 1)))


def test_a_buy_costs_its_value_and_the_fee():
    # 33 × 10.01 + 1 = 331.33
    _, order = bought()
    fill = fill_settled(order, execution(order.id, 1, "33", "10.01"), "USD", {})
    assert (fill.cash_effect, fill.fx, fill.execution) == (Exact("-331.33"), Exact(1), "sim.1")


def test_a_sell_brings_its_value_less_the_fee():
    scribe = desk("eq")
    holding(scribe, "eq", "AAA", "10", "10")
    order = order_of(scribe, approved(scribe, "eq", ("AAA", SELL, "10", "10")), 1)
    assert fill_settled(order, execution(order.id, 1, "10", "10.5", side=SELL), "USD", {}).cash_effect == Exact(104)


def test_a_cash_effect_is_exact_to_the_last_of_many_digits():
    # 3 × 1.2345678901234567 × 1.5 = 5.55555550555555515, and 3.7037036703703701 × 10⁻¹² on top
    _, order = bought()
    long = execution(order.id, 1, "3", "1.2345678901234567", fx=Exact("1.500000000001"), fee=Money(Exact(0), "USD"))
    assert str(fill_settled(order, long, "AUD", {}).cash_effect) == "-5.5555555055592588536703703701"


def test_a_foreign_fill_is_converted_at_the_rate_of_its_own_time_and_so_is_its_fee():
    # (10 × 20 + 2) × 1.5 = 303
    _, order = bought()
    seen = execution(order.id, 1, "10", "20", fx=Exact("1.5"), fee=Money(Exact(2), "USD"))
    fill = fill_settled(order, seen, "AUD", {"USD": Exact(9)})
    assert (fill.cash_effect, fill.fx) == (Exact(-303), Exact("1.5"))


def test_a_fee_in_a_third_currency_is_converted_at_that_currencys_rate():
    # 10 × 20 × 1.5 + 2 × 1.7 = 303.4
    _, order = bought()
    seen = execution(order.id, 1, "10", "20", fx=Exact("1.5"), fee=Money(Exact(2), "EUR"))
    assert fill_settled(order, seen, "AUD", {"EUR": Exact("1.7")}).cash_effect == Exact("-303.4")


def test_a_fee_in_base_currency_needs_no_rate():
    _, order = bought()
    seen = execution(order.id, 1, "10", "20", fx=Exact("1.5"), fee=Money(Exact(2), "AUD"))
    assert fill_settled(order, seen, "AUD", {}).cash_effect == Exact(-302)


@pytest.mark.parametrize("currency", ["EUR", "USD"])
def test_a_rate_that_is_not_known_is_never_taken_as_one(currency: str):
    _, order = bought()
    seen = execution(order.id, 1, "10", "20", fx=None if currency == "USD" else Exact("1.5"), fee=Money(Exact(2), currency))
    with pytest.raises(BrokerContradiction, match=currency):
        fill_settled(order, seen, "AUD", {})


@pytest.mark.parametrize(("quantity", "price"), [("10", "0"), ("0", "10"), ("10", "-1")])
def test_an_execution_without_shares_or_price_is_no_fill(quantity: str, price: str):
    _, order = bought()
    with pytest.raises(BrokerContradiction):
        fill_settled(order, execution(order.id, 1, quantity, price), "USD", {})


def test_an_execution_of_the_other_side_is_no_fill_of_this_order():
    _, order = bought()
    with pytest.raises(BrokerContradiction):
        fill_settled(order, execution(order.id, 1, "10", "10", side=SELL), "USD", {})
