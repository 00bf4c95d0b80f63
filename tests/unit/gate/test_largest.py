"""`largest`: the largest quantity of a blocked order that would pass."""

from typing import Any

import pytest

from shared.protocol.money import Exact
from shared.protocol.policy import Commission
from shared.protocol.reasons import Rule
from tests.unit.gate.given import book, decided, judged, market, order, policy, quote, rules_of, working

ALL = Exact(100)


def largest(proposed: Any, **given: Any) -> str:
    """`largest` of a blocked order; it passes, and one more does not."""
    found = decided(proposed, **given)
    assert found.largest is not None
    if found.largest:
        assert decided(resized(proposed, found.largest), **given).approved
    assert not decided(resized(proposed, found.largest + 1), **given).approved
    return str(found.largest)


def resized(proposed: Any, quantity: Any) -> Any:
    return order(proposed.side, str(quantity), proposed.limit, proposed.symbol, proposed.currency)


def test_an_approved_order_has_none() -> None:
    assert decided(order()).largest is None


def test_position_bounds_a_buy() -> None:
    # 100 × 100 × q ≤ 25 × (10000 − 1)
    assert largest(order(quantity="25")) == "24"
    assert largest(order(quantity="1.5", limit="101")) == "24"
    assert largest(order(quantity="0")) == "24"
    assert largest(order(quantity=None)) == "24"
    assert largest(order(quantity="NaN")) == "24"


def test_position_bounds_a_buy_of_what_is_held_in_another_currency() -> None:
    # value 8700 + 50 × 40 × 0.65 = 10000; (50 + q) × 26 ≤ 2500 − commission / 4, so q ≤ 46.15 less some
    on = book("8700", holdings={"BHP:AUD": "50"})

    assert largest(order(quantity="60", limit="40", symbol="BHP", currency="AUD"), on=on) == "46"


def test_no_order_has_more_than_999999999_shares() -> None:
    rules = policy(max_position_pct=ALL)
    seen = market(rules, quote(last="1"))

    assert largest(order(quantity="0", limit="1"), rules=rules, on=book("1000000000000"), seen=seen) == "999999999"


def test_cash_bounds_a_buy() -> None:
    # 200 q + 1 ≤ 950
    rules = policy(max_position_pct=ALL, max_price_deviation_pct=ALL)
    on = book("950", holdings={"BBB:USD": "100"})

    assert largest(order(quantity="10", limit="200"), rules=rules, on=on) == "4"


@pytest.mark.parametrize(
    ("cash", "expected"),
    [
        ("99.99", "99"),  # 99 + 0.99: the maximum of 1 % is below the minimum
        ("101", "100"),  # 100 + 1: both are 1
        ("150", "149"),  # 149 + 1, the minimum
        ("202", "200"),  # 201 + 1.005 is too much, 200 + 1 is not
        ("1005", "1000"),  # 1000 + 5, per share
        ("1004.99", "999"),
    ],
)
def test_a_bound_is_exact_on_each_piece_of_the_commission(cash: str, expected: str) -> None:
    # price 1: the fee is 1 % up to 100 shares, 1 up to 200, then 0.005 a share
    rules = policy(max_position_pct=ALL)
    seen = market(rules, quote(last="1"))
    on = book(cash, holdings={"BBB:USD": "1000"})

    assert largest(order(quantity="5000", limit="1"), rules=rules, on=on, seen=seen) == expected


def test_the_reserve_bounds_a_buy() -> None:
    # 100 q + 1 ≤ 10000 − 1000
    assert largest(order(quantity="95"), rules=policy(min_cash_pct=Exact(10), max_position_pct=ALL)) == "89"


def test_exposure_and_notional_bound_a_buy() -> None:
    rules = policy(max_gross_pct=Exact(20), max_position_pct=ALL)

    assert largest(order(quantity="30"), rules=rules) == "20"
    assert largest(order(quantity="30", limit="102"), rules=rules) == "19"
    assert largest(order(quantity="30"), rules=policy(max_order_notional=Exact(1050))) == "10"


def test_what_is_held_bounds_a_sell() -> None:
    on = book("10000", working("SELL", "4", "101"), holdings={"AAA:USD": "10"})

    assert largest(order("SELL", "7"), on=on) == "6"
    assert largest(order("SELL", "7"), on=book()) == "0"
    assert largest(order("SELL", "7"), rules=policy(max_order_notional=Exact(500)), on=on) == "5"


def test_the_smallest_bound_counts() -> None:
    rules = policy(max_order_notional=Exact(1200), min_cash_pct=Exact(80))

    # notional 12, reserve (10000 − 8000 − 1) / 100 = 19, position 24
    assert largest(order(quantity="30"), rules=rules) == "12"


@pytest.mark.parametrize(
    ("proposed", "given"),
    [
        (order(limit="110"), {}),
        (order(limit=None), {}),
        (order(limit="NaN"), {}),
        (order("HOLD"), {}),
        (order(symbol="ZZZZ"), {}),
        (order(exchange="NYSE"), {}),
        (order(), {"on": book(used_month=10)}),
        (order(symbol="VOD", limit="1", currency="GBP"), {}),
        (order(), {"on": book("0", holdings={"BBB:USD": "100"})}),
    ],
)
def test_it_is_0_where_a_rule_fails_at_every_quantity(proposed: Any, given: Any) -> None:
    assert str(decided(proposed, **given).largest) == "0"


def test_it_is_0_where_a_rule_that_is_not_monotone_fails_at_the_bound() -> None:
    # the bound is 1 share of 100, whose fee of 50 is half its value
    flat = Commission("USD", Exact(0), Exact(50), ALL)
    rules = policy(fees=(flat,), max_order_notional=Exact(150))
    decision = decided(order(quantity="2"), rules=rules)

    assert rules_of(decision) == (Rule.COMMISSION_SHARE, Rule.ORDER_NOTIONAL)
    assert str(decision.largest) == "0"


def test_it_is_the_larger_quantity_that_a_small_order_needs_to_be_worth_its_commission() -> None:
    # a fee of 50 is 10 % of 500; 25 % of (10000 − 50) is 24.875 shares
    rules = policy(fees=(Commission("USD", Exact(0), Exact(50), ALL),))

    assert largest(order(quantity="4"), rules=rules) == "24"


def test_it_is_one_less_where_duplicate_alone_fails() -> None:
    on = book("10000", working("SELL", "5", "100"), holdings={"AAA:USD": "10"})

    assert largest(order("SELL", "6"), on=on) == "4"
    assert largest(order("SELL", "5"), on=on) == "4"


def test_it_is_one_less_again_where_that_quantity_is_at_work_too() -> None:
    on = book("10000", working("SELL", "4", "100"), working("SELL", "3", "100", name="o2"), holdings={"AAA:USD": "11"})

    assert largest(order("SELL", "9"), on=on) == "2"


def test_a_duplicate_may_pass_at_another_quantity() -> None:
    on = book("10000", working("BUY", "3", "100"))

    # 25 × (10000 − 1) / 100 / 100 − 3 = 21.99…
    assert largest(order(quantity="3"), on=on) == "21"


def test_fractions_are_bounded_to_8_decimals_where_the_policy_allows_them() -> None:
    rules = policy(allow_fractional=True, max_position_pct=ALL)
    on = book("950", holdings={"BBB:USD": "1000"})

    # (950 − 1) / 100 = 9.49; (1000 − 1) / 102 = 9.79411764…
    assert str(decided(order(quantity="10"), rules=rules, on=on).largest) == "9.49"
    on = book("1000", holdings={"BBB:USD": "1000"})
    assert str(decided(order(quantity="10", limit="102"), rules=rules, on=on).largest) == "9.79411764"


def test_it_is_that_of_the_simulated_book() -> None:
    # after 20 of AAA the position takes 4 more
    assert [str(decision.largest) for decision in judged(order("BUY", "20"), order("BUY", "9", "99")).decisions] == ["None", "4"]


def test_a_blocked_batch_passes_at_no_quantity() -> None:
    assert str(decided(order(quantity="25"), on=book(reconciled=False)).largest) == "0"
