"""The limits, each just inside, on and just over, with numbers worked out by hand."""

from typing import Any

import pytest

from shared.protocol.money import Exact
from shared.protocol.policy import Commission
from shared.protocol.reasons import Rule
from tests.unit.gate.given import book, decided, market, numbers, order, policy, quote, rules_of, why, working

ALL = Exact(100)


@pytest.mark.parametrize(
    ("limit", "rules"),
    [
        ("101.99", ()),
        ("102", ()),
        ("102.00000001", (Rule.PRICE_COLLAR,)),
        ("98.01", ()),
        ("98", ()),
        ("97.99999999", (Rule.PRICE_COLLAR,)),
    ],
)
@pytest.mark.parametrize("side", ["BUY", "SELL"])
def test_a_limit_is_within_2_percent_of_the_reference(side: str, limit: str, rules: tuple[Rule, ...]) -> None:
    assert rules_of(decided(order(side, "1", limit), on=book(holdings={"AAA:USD": "10"}))) == rules


def test_the_collar_tells_the_deviation_and_the_room_to_either_side() -> None:
    reason = why(decided(order(limit="110")), Rule.PRICE_COLLAR)

    assert numbers(reason) == ("2", "10", "2")
    assert reason.message == "limit 110 is 10 % from the reference price 100, at most 2 % pass: 98 to 102"


def test_the_collar_is_around_the_middle_where_last_is_outside_bid_and_ask() -> None:
    rules = policy()
    seen = market(rules, quote(last="90", bid="99", ask="101"))

    assert rules_of(decided(order(limit="102"), rules=rules, seen=seen)) == ()


@pytest.mark.parametrize(("used", "rules"), [(8, ()), (9, ()), (10, (Rule.MONTHLY_ORDERS,)), (11, (Rule.MONTHLY_ORDERS,))])
def test_the_10th_order_of_a_month_passes_and_the_11th_does_not(used: int, rules: tuple[Rule, ...]) -> None:
    assert rules_of(decided(order(), on=book(used_month=used))) == rules


@pytest.mark.parametrize("used", [10, 12])
def test_the_count_is_told_with_what_is_left(used: int) -> None:
    decision = decided(order(), rules=policy(max_orders_per_day=10), on=book(used_month=used, used_day=used))
    monthly, daily = why(decision, Rule.MONTHLY_ORDERS), why(decision, Rule.DAILY_ORDERS)

    assert numbers(monthly) == numbers(daily) == ("10", str(used + 1), "0")
    assert monthly.message == f"order {used + 1} of the month in Australia/Sydney, at most 10 pass"
    assert daily.message == f"order {used + 1} of the book's day, at most 10 pass"


def test_a_limit_of_0_orders_never_trades() -> None:
    assert rules_of(decided(order(), rules=policy(max_trades_per_month=0))) == (Rule.MONTHLY_ORDERS,)


@pytest.mark.parametrize(("used", "rules"), [(1, ()), (2, ()), (3, (Rule.DAILY_ORDERS,))])
def test_the_3rd_order_of_a_day_passes_and_the_4th_does_not(used: int, rules: tuple[Rule, ...]) -> None:
    assert rules_of(decided(order(), rules=policy(max_orders_per_day=3), on=book(used_day=used))) == rules
    assert rules_of(decided(order(), on=book(used_day=used))) == ()


@pytest.mark.parametrize(("limit", "rules"), [("10.01", ()), ("10", ()), ("9.99", (Rule.COMMISSION_SHARE,))])
def test_a_commission_of_exactly_10_percent_passes(limit: str, rules: tuple[Rule, ...]) -> None:
    flat = Commission("USD", Exact(0), Exact(1), ALL)
    given = policy(fees=(flat,))

    assert rules_of(decided(order(limit=limit), rules=given, seen=market(given, quote(last="10")))) == rules


def test_the_commissions_share_is_told_with_8_decimals() -> None:
    given = policy(fees=(Commission("USD", Exact(0), Exact(1), ALL),))
    decision = decided(order(limit="9.99"), rules=given, seen=market(given, quote(last="10")))

    # 1 / 9.99 = 0.1001001001001…; 10 % of 9.99 = 0.999
    assert numbers(why(decision, Rule.COMMISSION_SHARE)) == ("10", "10.01001001", "0.999")


def test_exits_are_counted_but_not_blocked_unless_the_policy_says_so() -> None:
    flat = (Commission("USD", Exact(0), Exact(50), ALL),)
    sell = order("SELL", "1", "100")
    on = book(holdings={"AAA:USD": "1"}, used_month=10, used_day=3)
    limited = (Rule.MONTHLY_ORDERS, Rule.DAILY_ORDERS, Rule.COMMISSION_SHARE)

    assert rules_of(decided(sell, rules=policy(fees=flat, max_orders_per_day=3), on=on)) == ()
    assert rules_of(decided(sell, rules=policy(fees=flat, max_orders_per_day=3, exits_exempt=False), on=on)) == limited


def test_a_sell_of_nothing_held_is_no_exit() -> None:
    assert rules_of(decided(order("SELL"), on=book(used_month=10))) == (Rule.MONTHLY_ORDERS, Rule.HOLDING)


@pytest.mark.parametrize(("quantity", "rules"), [("9", ()), ("10", ()), ("11", (Rule.HOLDING,))])
def test_exactly_what_is_held_may_be_sold(quantity: str, rules: tuple[Rule, ...]) -> None:
    assert rules_of(decided(order("SELL", quantity), on=book(holdings={"AAA:USD": "10"}))) == rules


@pytest.mark.parametrize(("quantity", "rules"), [("6", ()), ("7", ()), ("8", (Rule.HOLDING,))])
def test_what_is_reserved_for_other_sells_is_not_sold_again(quantity: str, rules: tuple[Rule, ...]) -> None:
    on = book("10000", working("SELL", "5", "101", filled="2"), holdings={"AAA:USD": "10"})

    assert rules_of(decided(order("SELL", quantity), on=on)) == rules


def test_a_sell_too_large_says_what_may_be_sold() -> None:
    on = book("10000", working("SELL", "5", "101"), holdings={"AAA:USD": "10"})

    reason = why(decided(order("SELL", "7"), on=on), Rule.HOLDING)

    assert numbers(reason) == ("5", "7", "5")
    assert reason.message == "SELL 7 of 10 held, 5 of them reserved for other sells"


@pytest.mark.parametrize(("cash", "rules"), [("1001.01", ()), ("1001", ()), ("1000.99", (Rule.CASH,))])
def test_cash_covers_notional_and_commission_and_equal_passes(cash: str, rules: tuple[Rule, ...]) -> None:
    # 10 × 100 + max(10 × 0.005, 1) = 1001
    decision = decided(order(quantity="10"), rules=policy(max_position_pct=ALL), on=book(cash, holdings={"BBB:USD": "1000"}))

    assert rules_of(decision) == rules


def test_a_buy_that_cash_does_not_cover_says_how_many_shares_it_does() -> None:
    decision = decided(order(quantity="10"), rules=policy(max_position_pct=ALL), on=book("950", holdings={"BBB:USD": "1000"}))

    # (950 − 1) / 100 = 9.49
    assert numbers(why(decision, Rule.CASH)) == ("950", "1001", "9")


@pytest.mark.parametrize(("cash", "rules"), [("3006", ()), ("3005.99", (Rule.CASH,))])
def test_what_working_buys_reserve_is_not_spent_again(cash: str, rules: tuple[Rule, ...]) -> None:
    # 40 left of 50 at 50: 2000 + max(0.2, 1) = 2001; the order: 20 × 50.2 + 1 = 1005
    buys = working("BUY", "50", "50", "BBB", filled="10")
    on = book(cash, buys, holdings={"AAA:USD": "1000"})

    assert rules_of(decided(order(quantity="20", limit="50.2", symbol="BBB"), on=on)) == rules


def test_a_reservation_is_held_at_the_rate_of_its_own_verdict() -> None:
    # 10 × 40 × 0.7 + min(max(0.1, 5), 4) × 0.7 = 282.8, so 1283.8 is just enough for 1001 more
    foreign = working("BUY", "10", "40", "BHP", fx="0.7")
    rules = policy(max_position_pct=ALL)
    rest = {"BBB:USD": "1000"}

    assert rules_of(decided(order(quantity="10"), rules=rules, on=book("1283.8", foreign, holdings=rest))) == ()
    assert rules_of(decided(order(quantity="10"), rules=rules, on=book("1283.79", foreign, holdings=rest))) == (Rule.CASH,)


def test_cash_is_unknown_while_a_reservation_is() -> None:
    decision = decided(order(), on=book(reserves=False))

    assert rules_of(decision) == (Rule.CASH,)
    assert numbers(why(decision, Rule.CASH)) == (None, "101", None)


@pytest.mark.parametrize(("cash", "rules"), [("9891", ()), ("9890", ()), ("9889.99", (Rule.CASH_RESERVE,))])
def test_a_part_of_the_value_stays_in_cash_and_equal_passes(cash: str, rules: tuple[Rule, ...]) -> None:
    # 9890 − (89 × 100 + 1) = 989 = 10 % of 9890
    given = policy(min_cash_pct=Exact(10), max_position_pct=ALL)

    assert rules_of(decided(order(quantity="89"), rules=given, on=book(cash))) == rules


def test_a_buy_into_the_reserve_says_what_would_be_left() -> None:
    given = policy(min_cash_pct=Exact(10), max_position_pct=ALL)
    decision = decided(order(quantity="95"), rules=given, on=book("10000"))

    # 10000 − 9501 = 499 = 4.99 %; (9000 − 1) / 100 = 89.99
    assert numbers(why(decision, Rule.CASH_RESERVE)) == ("10", "4.99", "89")


def test_sells_need_neither_cash_nor_a_reserve() -> None:
    given = policy(min_cash_pct=Exact(99))

    assert rules_of(decided(order("SELL", "10"), rules=given, on=book("0", holdings={"AAA:USD": "10"}))) == ()


@pytest.mark.parametrize(("cash", "rules"), [("10001.01", ()), ("10001", ()), ("10000", (Rule.POSITION,))])
def test_a_purchase_of_exactly_25_percent_of_todays_value_is_blocked_by_its_fee(cash: str, rules: tuple[Rule, ...]) -> None:
    # 25 × 100 = 25 % of (10001 − 1)
    assert rules_of(decided(order(quantity="25"), on=book(cash))) == rules


def test_the_position_is_told_after_the_fee() -> None:
    decision = decided(order(quantity="25"), on=book("10000"))

    # 2500 / 9999 = 0.2500250025…; 25 × (10000 − 1) / 100 / 100 = 24.9975 shares
    assert numbers(why(decision, Rule.POSITION)) == ("25", "25.00250025", "24")


@pytest.mark.parametrize(("quantity", "rules"), [("4", ()), ("5", (Rule.POSITION,))])
def test_holdings_and_working_buys_count_toward_the_position(quantity: str, rules: tuple[Rule, ...]) -> None:
    # value 8000 + 10 × 100 + 20 × 50 = 10000: 24 shares fit, 10 are held, 10 of 12 are still to be bought
    on = book("8000", working("BUY", "12", "99", filled="2"), holdings={"AAA:USD": "10", "BBB:USD": "20"})

    assert rules_of(decided(order(quantity=quantity), on=on)) == rules


def test_the_position_is_valued_at_the_reference_not_at_the_limit() -> None:
    rules = policy()
    seen = market(rules, quote(last="100"))

    assert rules_of(decided(order(quantity="24", limit="102"), rules=rules, seen=seen)) == ()


def test_drifting_above_the_cap_is_tolerated_and_selling_out_of_it_passes() -> None:
    on = book("100", holdings={"AAA:USD": "100"})

    assert rules_of(decided(order("SELL", "1"), on=on)) == ()
    assert Rule.POSITION in rules_of(decided(order("BUY", "1"), on=on))


@pytest.mark.parametrize("cash", ["1", "0.5"])
def test_a_book_whose_value_the_fee_eats_up_may_buy_nothing(cash: str) -> None:
    tiny = Commission("USD", Exact(0), Exact(1), ALL)
    given = policy(fees=(tiny,), max_position_pct=ALL, max_commission_pct=ALL)
    seen = market(given, quote(last="0.01"))
    decision = decided(order(quantity="200", limit="0.01"), rules=given, on=book(cash), seen=seen)

    assert Rule.POSITION in rules_of(decision)
    assert why(decision, Rule.POSITION).value is None


@pytest.mark.parametrize("side", ["BUY", "SELL"])
@pytest.mark.parametrize(
    ("limit", "rules"), [("99", ()), ("100", ()), ("100.01", (Rule.ORDER_NOTIONAL,)), ("101", (Rule.ORDER_NOTIONAL,))]
)
def test_an_order_is_worth_at_most_1000_at_the_larger_of_limit_and_reference(
    side: str, limit: str, rules: tuple[Rule, ...]
) -> None:
    given = policy(max_order_notional=Exact(1000))

    assert rules_of(decided(order(side, "10", limit), rules=given, on=book(holdings={"AAA:USD": "10"}))) == rules


def test_a_low_limit_does_not_make_an_order_smaller() -> None:
    given = policy(max_order_notional=Exact("999.99"))
    decision = decided(order(quantity="10", limit="98"), rules=given)

    assert numbers(why(decision, Rule.ORDER_NOTIONAL)) == ("999.99", "1000", "9")


@pytest.mark.parametrize(("quantity", "rules"), [("14", ()), ("15", ()), ("16", (Rule.GROSS_EXPOSURE,))])
def test_exposure_counts_holdings_working_buys_and_the_order(quantity: str, rules: tuple[Rule, ...]) -> None:
    # value 7000 + 30 × 100 = 10000; 3000 held + 10 × 50 to be bought (above its limit of 49) + 15 × 100 = 50 %
    given = policy(max_gross_pct=Exact(50), max_position_pct=ALL)
    on = book("7000", working("BUY", "10", "49", "BBB"), holdings={"AAA:USD": "30"})

    assert rules_of(decided(order(quantity=quantity), rules=given, on=on)) == rules


def test_exposure_is_told_in_percent_of_the_value_and_in_shares() -> None:
    given = policy(max_gross_pct=Exact(50), max_position_pct=ALL)
    decision = decided(order(quantity="60"), rules=given, on=book("10000"))

    assert numbers(why(decision, Rule.GROSS_EXPOSURE)) == ("50", "60", "50")

    # 3000 of 10000 are exposed already: 20 more shares
    held = decided(order(quantity="21"), rules=given, on=book("7000", holdings={"BBB:USD": "60"}))
    assert numbers(why(held, Rule.GROSS_EXPOSURE)) == ("50", "51", "20")


def test_a_foreign_order_counts_in_base_currency() -> None:
    # 10 × 40 × 0.65 = 260; commission min(max(0.1, 5), 4) × 0.65 = 2.6
    decision = decided(order(quantity="10", limit="40", symbol="BHP", currency="AUD"))

    assert (str(decision.notional), str(decision.commission), str(decision.fx)) == ("260", "2.6", "0.65")


def test_every_limit_that_fails_gives_its_reason() -> None:
    given: Any = policy(min_cash_pct=Exact(1), max_gross_pct=Exact(50), max_order_notional=Exact(1000), max_orders_per_day=1)
    decision = decided(order(quantity="200", limit="110"), rules=given, on=book("10000", used_month=10, used_day=1))

    assert rules_of(decision) == (
        Rule.PRICE_COLLAR,
        Rule.MONTHLY_ORDERS,
        Rule.DAILY_ORDERS,
        Rule.CASH,
        Rule.CASH_RESERVE,
        Rule.POSITION,
        Rule.ORDER_NOTIONAL,
        Rule.GROSS_EXPOSURE,
    )
