"""A batch is judged on a simulated book, SELLs first, each approval applied before the next order is judged."""

import pytest

from services.gate.market import SessionView
from shared.protocol.instants import parse
from shared.protocol.money import Exact
from shared.protocol.reasons import Rule
from tests.unit.gate.given import OPEN, RUN, book, judged, market, order, policy, quote, rules_of, working


def test_sells_come_first_and_each_side_keeps_the_proposals_order() -> None:
    on = book(holdings={"AAA:USD": "10", "BBB:USD": "10"})
    batch = (
        order("BUY", "1", "300", "BRK B"),
        order("SELL", "1"),
        order("BUY", "2", "300", "BRK B"),
        order("SELL", "1", "50", "BBB"),
    )

    assert [decision.index for decision in judged(*batch, on=on).decisions] == [2, 4, 1, 3]


def test_approved_orders_are_named_after_their_place_in_the_proposal() -> None:
    on = book(holdings={"AAA:USD": "10"})
    sell, buy, bad = judged(order("BUY", "1", "50", "BBB"), order("SELL"), order("HOLD"), on=on).decisions

    assert (sell.order, buy.order, bad.order) == (f"{RUN}-2", f"{RUN}-1", None)


def test_without_a_run_nothing_gets_an_id() -> None:
    assert judged(order(), run=None).decisions[0].order is None


def test_what_a_sell_brings_may_be_spent_by_the_batchs_buys() -> None:
    # 10 × 100 − 1 = 999 and 51 in cash: 21 × 50 + 1 = 1051 does not fit, 20 × 50 + 1 = 1001 does
    on = book("51", holdings={"AAA:USD": "10"})
    rules = policy(max_position_pct=Exact(100))

    sell, buy = judged(order("BUY", "21", "50", "BBB"), order("SELL", "10"), rules=rules, on=on).decisions
    assert (sell.approved, rules_of(buy), str(buy.largest)) == (True, (Rule.CASH,), "20")
    sell, buy = judged(order("BUY", "20", "50", "BBB"), order("SELL", "10"), rules=rules, on=on).decisions
    assert (sell.approved, buy.approved) == (True, True)


def test_a_buy_takes_its_cash_from_the_buys_after_it() -> None:
    # 1000 − (5 × 100 + 1) = 499: 9 × 50 + 1 fits, 10 × 50 + 1 does not
    rules = policy(max_position_pct=Exact(100))

    first, second = judged(order("BUY", "5"), order("BUY", "10", "50", "BBB"), rules=rules, on=book("1000")).decisions

    assert (first.approved, rules_of(second), str(second.largest)) == (True, (Rule.CASH,), "9")


def test_shares_sold_in_the_batch_are_not_sold_again() -> None:
    on = book(holdings={"AAA:USD": "10"})
    first, second = judged(order("SELL", "6"), order("SELL", "5"), on=on).decisions

    assert (first.approved, rules_of(second), str(second.largest)) == (True, (Rule.HOLDING,), "4")


def test_shares_bought_in_the_batch_count_toward_the_position() -> None:
    # 24 of AAA fit into 25 % of 10000
    first, second = judged(order("BUY", "20"), order("BUY", "5", "99")).decisions

    assert (first.approved, rules_of(second), str(second.largest)) == (True, (Rule.POSITION,), "4")


def test_shares_sold_in_the_batch_make_room_for_the_position() -> None:
    # value 10000, 24 held; after selling 10 another 10 fit, at a limit that does not meet the own SELL
    on = book("7600", holdings={"AAA:USD": "24"})
    sell, buy = judged(order("SELL", "10", "101"), order("BUY", "10", "99"), on=on).decisions

    assert (sell.approved, buy.approved) == (True, True)


def test_exposure_follows_the_batch() -> None:
    # value 10000; 5000 held − 2000 sold + 2000 bought is the limit of 50 %
    rules = policy(max_gross_pct=Exact(50), max_position_pct=Exact(100))
    on = book("5000", holdings={"AAA:USD": "50"})
    batch = (order("SELL", "20", "100"), order("BUY", "40", "50", "BBB"), order("BUY", "1", "300", "BRK B"))

    decisions = judged(*batch, rules=rules, on=on).decisions

    assert [rules_of(decision) for decision in decisions] == [(), (), (Rule.GROSS_EXPOSURE,)]


@pytest.mark.parametrize(
    ("limit", "approved"),
    [
        # 20 of AAA at the larger of limit and reference, then 60 × 50 of BBB under a limit of 5000
        ("98", True),
        ("100", True),
        ("100.01", False),
    ],
)
def test_what_the_batch_buys_is_exposed_at_the_larger_of_limit_and_reference(limit: str, approved: bool) -> None:
    rules = policy(max_gross_pct=Exact(50), max_position_pct=Exact(100))
    first, second = judged(order("BUY", "20", limit), order("BUY", "60", "50", "BBB"), rules=rules).decisions

    assert (first.approved, second.approved) == (True, approved)


@pytest.mark.parametrize(
    ("filled", "limit", "last", "bought"),
    [
        ("4", "101", "100", 43),  # 6 left at 101: (5000 − 606) / 100
        ("4", "99", "100", 44),  # 6 left at the reference of 100
        ("4", "101", None, 43),  # without a reference its limit counts
        ("10", "101", "100", 50),
    ],
)
def test_what_working_buys_may_still_buy_is_exposed(filled: str, limit: str, last: str | None, bought: int) -> None:
    rules = policy(max_gross_pct=Exact(50), max_position_pct=Exact(100))
    seen = market(rules, quote("AAA", last), quote("BBB", "100"))
    on = book("10000", working("BUY", "10", limit, filled=filled))
    most, more = (
        judged(order("BUY", str(shares), "100", "BBB"), rules=rules, on=on, seen=seen).decisions[0]
        for shares in (bought, bought + 1)
    )

    assert (most.approved, rules_of(more)) == (True, (Rule.GROSS_EXPOSURE,))


def test_each_approval_uses_one_order_of_the_month_and_the_day() -> None:
    on = book(used_month=8, used_day=1)
    rules = policy(max_orders_per_day=4)
    batch = tuple(order("BUY", str(quantity)) for quantity in (1, 2, 3))
    result = judged(*batch, rules=rules, on=on)

    assert [rules_of(decision) for decision in result.decisions] == [(), (), (Rule.MONTHLY_ORDERS,)]
    assert (result.after().used_month, result.after().used_day) == (10, 3)


def test_exits_count_too() -> None:
    on = book(used_month=9, holdings={"AAA:USD": "10"})
    sell, buy = judged(order("SELL"), order("BUY", "1", "50", "BBB"), on=on).decisions

    assert (sell.approved, rules_of(buy)) == (True, (Rule.MONTHLY_ORDERS,))


def test_a_blocked_order_changes_nothing() -> None:
    alone = judged(order("BUY", "24"))
    after_blocked = judged(order("BUY", "90"), order("BUY", "24"))

    assert rules_of(after_blocked.decisions[0]) == (Rule.POSITION,)
    assert after_blocked.after() == alone.after()


def test_the_book_after_the_batch_has_every_approval_carried_out() -> None:
    on = book("1000", holdings={"AAA:USD": "10", "BBB:USD": "2"}, used_month=3, used_day=1)
    result = judged(order("SELL", "10", "99"), order("BUY", "1", "50", "BBB"), order("BUY", "0"), on=on)
    after = result.after()

    # 1000 + 990 − 1 − 50 − 0.5 (1 % of 50 wins over the minimum)
    assert str(after.cash) == "1938.5"
    assert {key: str(shares) for key, shares in after.holdings.items()} == {"BBB:USD": "3"}
    assert (after.used_month, after.used_day) == (5, 3)


def test_inputs_are_not_modified() -> None:
    on = book("10000", working("BUY", "5", "99"), holdings={"AAA:USD": "10"})
    before = (dict(on.holdings), on.working, on.cash)

    judged(order("SELL", "5"), order("BUY", "5", "49", "BBB"), on=on)

    assert (dict(on.holdings), on.working, on.cash) == before


def test_commission_is_worked_out_per_order() -> None:
    rules = policy(max_position_pct=Exact(100), max_price_deviation_pct=Exact(20))
    small, large = judged(
        order("BUY", "1", "50", "BBB"),
        order("BUY", "1000", "1", "AAA"),
        rules=rules,
        on=book("3000"),
        seen=market(rules, quote(last="1")),
    ).decisions

    # 1 % of 50 = 0.5 wins over the minimum of 1; 1000 × 0.005 = 5 is below 1 % of 1000
    assert (str(small.commission), str(large.commission)) == ("0.5", "5")


def test_the_value_is_that_of_the_evidence_throughout_the_batch() -> None:
    result = judged(order("BUY", "20"), order("BUY", "40", "50", "BBB"), on=book("10000"))

    assert str(result.value) == "10000"
    assert [decision.approved for decision in result.decisions] == [True, True]


@pytest.mark.parametrize("count", [0, 99])
def test_a_batch_may_have_none_and_99_orders(count: int) -> None:
    rules = policy(max_trades_per_month=100)
    result = judged(*(order("BUY", "1", f"{98 + index / 100}") for index in range(count)), rules=rules, on=book("100000"))

    assert [decision.order for decision in result.decisions] == [f"{RUN}-{index}" for index in range(1, count + 1)]


def test_the_first_of_several_closes_counts() -> None:
    rules = policy()
    sessions = {**OPEN, "ASX": SessionView(True, parse("2022-10-03T15:00:00.000000Z"))}
    batch = (order(), order(quantity="10", symbol="BHP", limit="40", currency="AUD"))
    close = judged(*batch, rules=rules, seen=market(rules, sessions=sessions)).first_close()

    assert close is not None
    assert close.isoformat() == "2022-10-03T15:00:00+00:00"


def test_the_first_close_is_that_of_the_approved_orders_exchanges() -> None:
    assert judged(order("HOLD")).first_close() is None
    close = judged(order()).first_close()
    assert close is not None
    assert close.isoformat() == "2022-10-03T20:00:00+00:00"
