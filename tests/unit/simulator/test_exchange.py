"""Matching, fees, money and time of the exchange model, by numbers worked out on paper."""

import pytest

from services.simulator.account import net_liquidation
from services.simulator.matching import fee
from services.simulator.orders import Advance, Cancel, Session, Terms
from shared.protocol.market import Side
from shared.protocol.money import Exact
from tests.unit.simulator.worlds import MONDAY, TUESDAY, WEDNESDAY, Play, price_file

CLOSES = """
2022-10-03,A,,,,100,
2022-10-04,A,,,,110.555,
2022-10-05,A,,,,90,
"""
# Tuesday's quote at the slot: last 50, bid 49.99, ask 50.01
BARS = """
2022-10-03,A,98,101,97,100,
2022-10-04,A,50,52,49,51,
2022-10-05,A,51,53,50,52,
"""
# a tenth of Tuesday's volume is 100.5
VOLUMES = """
2022-10-03,A,98,101,97,100,1000000
2022-10-04,A,50,52,49,51,1005
"""


@pytest.fixture
def closes(tmp_path):
    """Closes only, at Tuesday's slot."""
    play = Play(price_file(tmp_path, CLOSES))
    play.slot(TUESDAY)
    return play


@pytest.fixture
def bars(tmp_path):
    """Open, high, low and close without volume, at Tuesday's slot."""
    play = Play(price_file(tmp_path, BARS))
    play.slot(TUESDAY)
    return play


def holding(play: Play, quantity: str) -> Play:
    """`quantity` shares of A, bought at Monday's close for 100 or, with bars, at Monday's slot for the ask of 98.02."""
    play.slot(MONDAY)
    play.buy("A", quantity, "150")
    play.close(MONDAY)
    assert play.state.positions == {"A": Exact(quantity)}
    play.executions.clear()
    play.slot(TUESDAY)
    return play


# Closes only


@pytest.mark.parametrize(
    ("limit", "fills"), [("110.56", [("10", "110.555", "1")]), ("110.55", []), ("200", [("10", "110.555", "1")])]
)
def test_a_buy_fills_at_the_unrounded_close_below_its_limit(closes, limit, fills):
    assert closes.buy("A", "10", limit).status == "working"
    assert closes.fills() == []
    closes.close(TUESDAY)
    assert closes.fills() == fills


@pytest.mark.parametrize(
    ("limit", "fills"), [("110.55", [("10", "110.555", "1")]), ("110.56", []), ("1", [("10", "110.555", "1")])]
)
def test_a_sell_fills_at_the_unrounded_close_above_its_limit(tmp_path, limit, fills):
    play = holding(Play(price_file(tmp_path, CLOSES)), "10")
    play.sell("A", "10", limit)
    play.close(TUESDAY)
    assert play.fills() == fills


@pytest.mark.parametrize(("limit", "filled"), [("89.99", False), ("90", False), ("90.01", True)])
def test_a_close_equal_to_the_limit_of_a_buy_never_fills(closes, limit, filled):
    closes.slot(WEDNESDAY)
    closes.buy("A", "10", limit)
    closes.close(WEDNESDAY)
    assert bool(closes.executions) is filled


@pytest.mark.parametrize(("limit", "filled"), [("89.99", True), ("90", False), ("90.01", False)])
def test_a_close_equal_to_the_limit_of_a_sell_never_fills(tmp_path, limit, filled):
    play = holding(Play(price_file(tmp_path, CLOSES)), "10")
    play.slot(WEDNESDAY)
    play.sell("A", "10", limit)
    play.close(WEDNESDAY)
    assert bool(play.executions) is filled


def test_without_volume_whole_orders_fill(closes):
    closes.buy("A", "9000", "111")
    closes.close(TUESDAY)
    assert closes.fills() == [("9000", "110.555", "45")]


# Full bars


@pytest.mark.parametrize(("limit", "fills"), [("50.02", [("10", "50.01", "1")]), ("52", [("10", "50.01", "1")]), ("50.01", [])])
def test_a_buy_that_crosses_the_quote_fills_at_once_at_the_ask(bars, limit, fills):
    bars.buy("A", "10", limit)
    assert bars.fills() == fills
    assert bars.orders[1].status == ("filled" if fills else "working")


@pytest.mark.parametrize(("limit", "fills"), [("49.98", [("10", "49.99", "1")]), ("1", [("10", "49.99", "1")]), ("49.99", [])])
def test_a_sell_that_crosses_the_quote_fills_at_once_at_the_bid(tmp_path, limit, fills):
    play = holding(Play(price_file(tmp_path, BARS)), "10")
    play.sell("A", "10", limit)
    assert play.fills() == fills


@pytest.mark.parametrize(
    ("limit", "fills"), [("49.01", [("10", "49.01", "1")]), ("49", []), ("48.99", []), ("50", [("10", "50", "1")])]
)
def test_a_buy_that_rests_fills_at_its_limit_if_the_bar_traded_below_it(bars, limit, fills):
    assert bars.buy("A", "10", limit).status == "working"
    bars.close(TUESDAY)
    assert bars.fills() == fills


@pytest.mark.parametrize(
    ("limit", "fills"), [("51.99", [("10", "51.99", "1")]), ("52", []), ("52.01", []), ("50", [("10", "50", "1")])]
)
def test_a_sell_that_rests_fills_at_its_limit_if_the_bar_traded_above_it(tmp_path, limit, fills):
    play = holding(Play(price_file(tmp_path, BARS)), "10")
    assert play.sell("A", "10", limit).status == "working"
    play.close(TUESDAY)
    assert play.fills() == fills


def test_a_fill_on_arrival_is_never_above_the_bars_high(tmp_path):
    play = Play(price_file(tmp_path, "2022-10-03,A,,,,50,\n2022-10-04,A,50,50,48,49,"))
    play.slot(TUESDAY)
    play.buy("A", "10", "50.02")
    assert play.fills() == [("10", "50", "1")]


def test_a_fill_on_arrival_is_never_below_the_bars_low(tmp_path):
    play = holding(Play(price_file(tmp_path, "2022-10-03,A,,,,50,\n2022-10-04,A,50,52,50,51,")), "10")
    play.sell("A", "10", "49.98")
    assert play.fills() == [("10", "50", "1")]


def test_a_resting_order_with_a_limit_outside_the_bar_fills_at_the_bars_edge(tmp_path):
    play = holding(Play(price_file(tmp_path, "2022-10-03,A,,,,50,\n2022-10-04,A,50,50,48,49,")), "10")
    play.buy("A", "10", "50.01")
    play.close(TUESDAY)
    assert play.fills() == [("10", "50", "1")]


def test_a_bar_with_an_open_but_without_high_and_low_matches_at_its_close_only(tmp_path):
    play = Play(price_file(tmp_path, "2022-10-03,A,,,,50,\n2022-10-04,A,50,,,49.5,"))
    play.slot(TUESDAY)
    assert play.buy("A", "10", "55").status == "working"
    play.close(TUESDAY)
    assert play.fills() == [("10", "49.5", "1")]


def test_a_name_without_a_bar_that_day_does_not_fill(tmp_path):
    play = Play(price_file(tmp_path, "2022-10-03,A,,,,5,\n2022-10-03,B,,,,6,\n2022-10-04,B,,,,6,"))
    play.slot(TUESDAY)
    assert play.buy("A", "10", "100").status == "working"
    play.close(TUESDAY)
    assert (play.fills(), play.orders[1].status) == ([], "expired")


# Volume


@pytest.mark.parametrize(("quantity", "filled"), [("99", "99"), ("100", "100"), ("101", "100"), ("150", "100")])
def test_an_order_takes_at_most_a_tenth_of_the_days_volume_in_whole_shares(tmp_path, quantity, filled):
    play = Play(price_file(tmp_path, VOLUMES))
    play.slot(TUESDAY)
    play.buy("A", quantity, "49.5")
    play.close(TUESDAY)
    assert play.fills() == [(filled, "49.5", "1")]
    assert play.orders[1].status == ("filled" if filled == quantity else "expired")
    assert play.orders[1].remaining == Exact(quantity) - Exact(filled)


def test_what_the_volume_leaves_of_an_order_filled_on_arrival_expires_and_takes_no_second_tenth(tmp_path):
    play = Play(price_file(tmp_path, VOLUMES))
    play.slot(TUESDAY)
    order = play.buy("A", "150", "50.02")
    assert (order.status, str(order.filled), str(order.remaining)) == ("working", "100", "50")
    play.close(TUESDAY)
    assert play.fills() == [("100", "50.01", "1")]
    assert (play.orders[1].status, str(play.orders[1].filled)) == ("expired", "100")


def test_each_order_has_its_own_tenth(tmp_path):
    play = Play(price_file(tmp_path, VOLUMES))
    play.slot(TUESDAY)
    play.buy("A", "100", "49.5")
    play.buy("A", "100", "49.5")
    play.close(TUESDAY)
    assert play.fills() == [("100", "49.5", "1"), ("100", "49.5", "1")]


@pytest.mark.parametrize(("volume", "fills"), [("0", []), ("9", []), ("10", [("1", "90", "0.9")]), ("", [("5", "90", "1")])])
def test_volume_zero_fills_nothing_and_absent_volume_everything(tmp_path, volume, fills):
    play = Play(price_file(tmp_path, f"2022-10-03,A,,,,100,\n2022-10-04,A,,,,90,{volume}"))
    play.slot(TUESDAY)
    play.buy("A", "5", "91")
    play.close(TUESDAY)
    assert play.fills() == fills


# Fees


@pytest.mark.parametrize(
    ("quantity", "price", "expected"),
    [
        ("1000", "50", "5"),  # 0.005 a share
        ("333", "50", "1.665"),  # rounded to no cent
        ("200", "50", "1"),  # exactly the minimum
        ("199", "50", "1"),  # 0.995 is under it
        ("201", "50", "1.005"),
        ("1", "5", "0.05"),  # 1 % of 5 wins over the minimum
        ("10", "10", "1"),  # 1 % of 100 is the minimum
        ("10", "9.99", "0.999"),
        ("10000", "0.4", "40"),  # 50 would be 1.25 %
        ("10000", "0.5", "50"),  # exactly 1 %
    ],
)
def test_fees(quantity, price, expected):
    assert str(fee(Exact(quantity), Exact(price))) == expected


# Ends of orders


def test_a_day_order_expires_at_the_close(closes):
    closes.buy("A", "10", "1")
    closes.close(TUESDAY)
    order = closes.orders[1]
    assert (order.status, str(order.remaining), order.message) == (
        "expired",
        "10",
        "Order Canceled - reason: the DAY order expired at the close",
    )
    assert closes.state.working == ()


def test_a_cancelled_order_does_not_fill(closes):
    closes.buy("A", "10", "150")
    closes.submit(Cancel(1))
    closes.close(TUESDAY)
    assert (closes.orders[1].status, closes.executions) == ("cancelled", [])


def test_cancelling_what_has_ended_or_never_was_changes_nothing(closes):
    closes.buy("A", "10", "150")
    closes.close(TUESDAY)
    before = closes.state
    assert closes.submit(Cancel(1)).state is before
    assert closes.submit(Cancel(7)).state is before


def test_the_rest_of_a_partly_filled_order_can_be_cancelled(tmp_path):
    play = Play(price_file(tmp_path, VOLUMES))
    play.slot(TUESDAY)
    play.buy("A", "150", "50.02")
    play.submit(Cancel(1))
    order = play.orders[1]
    assert (order.status, str(order.filled), str(order.remaining)) == ("cancelled", "100", "50")


def test_orders_match_in_the_order_of_their_permanent_ids(closes):
    for ref in ("one", "two", "three"):
        closes.buy("A", "10", "150", ref)
    outcome = closes.close(TUESDAY)
    assert [(fill.n, fill.execution, fill.perm_id, fill.ref) for fill in outcome.executions] == [
        (1, "00000001.01.01", 1, "one"),
        (2, "00000002.01.01", 2, "two"),
        (3, "00000003.01.01", 3, "three"),
    ]


def test_the_same_reference_twice_is_two_orders(closes):
    assert [closes.buy("A", "10", "150", "same").perm_id for _ in range(2)] == [1, 2]
    assert len(closes.close(TUESDAY).executions) == 2


# Rejections


@pytest.mark.parametrize(
    ("symbol", "currency", "quantity", "limit", "words"),
    [
        ("ZZZ", "USD", "1", "10", "No security definition has been found for the request: ZZZ USD"),
        ("A", "EUR", "1", "10", "No security definition has been found for the request: A EUR"),
        ("A", "USD", "0", "10", "the size 0 is not a whole number"),
        ("A", "USD", "-1", "10", "the size -1 is not a whole number"),
        ("A", "USD", "1.5", "10", "the size 1.5 is not a whole number"),
        ("A", "USD", "1000000001", "10", "the size 1000000001 is not a whole number"),
        ("A", "USD", "1", "0", "the limit price 0 is not greater than 0"),
        ("A", "USD", "1", "-5", "the limit price -5 is not greater than 0"),
        ("A", "USD", "1", "10.001", "The price 10.001 does not conform to the minimum price variation of 0.01"),
        ("A", "USD", "1", "0.0000001", "The price 0.0000001 does not conform"),
    ],
)
def test_what_a_broker_does_not_take(closes, symbol, currency, quantity, limit, words):
    order = closes.place(Side.BUY, symbol, quantity, limit, currency=currency)
    assert order.status == "rejected"
    assert words in order.message
    closes.close(TUESDAY)
    assert (closes.orders[1].status, closes.executions) == ("rejected", [])


def test_orders_outside_a_session_are_rejected(tmp_path):
    play = Play(price_file(tmp_path, CLOSES))
    assert "the exchange is closed" in play.buy("A", "1", "10").message
    play.slot(TUESDAY)
    play.close(TUESDAY)
    assert "the exchange is closed" in play.buy("A", "1", "10").message


@pytest.mark.parametrize(("quantity", "status"), [("10", "working"), ("11", "rejected")])
def test_no_more_is_sold_than_is_held(tmp_path, quantity, status):
    play = holding(Play(price_file(tmp_path, CLOSES)), "10")
    order = play.sell("A", quantity, "100")
    assert order.status == status
    assert ("short sale" in order.message) is (status == "rejected")


@pytest.mark.parametrize(("quantity", "status"), [("4", "working"), ("5", "rejected")])
def test_what_working_sells_have_bound_is_not_sold_again(tmp_path, quantity, status):
    play = holding(Play(price_file(tmp_path, CLOSES)), "10")
    play.sell("A", "6", "100")
    assert play.sell("A", quantity, "100").status == status


def test_a_cancelled_sell_frees_its_shares(tmp_path):
    play = holding(Play(price_file(tmp_path, CLOSES)), "10")
    play.submit(Cancel(play.sell("A", "10", "100").perm_id))
    assert play.sell("A", "10", "100").status == "working"


@pytest.mark.parametrize(("cash", "status"), [("5002", "working"), ("5001.99", "rejected")])
def test_a_buy_needs_the_cash_for_its_limit_and_its_fee(tmp_path, cash, status):
    # 100 x 50.01 = 5001, and 1 for the fee
    play = Play(price_file(tmp_path, CLOSES), Terms(cash=Exact(cash)))
    play.slot(TUESDAY)
    order = play.buy("A", "100", "50.01")
    assert order.status == status
    if status == "rejected":
        assert order.message.endswith("insufficient cash: 5002 USD are needed with the fee, 5001.99 are free")


@pytest.mark.parametrize(("cash", "status"), [("10004", "working"), ("10003.99", "rejected")])
def test_cash_that_working_buys_have_bound_is_not_spent_again(tmp_path, cash, status):
    play = Play(price_file(tmp_path, CLOSES), Terms(cash=Exact(cash)))
    play.slot(TUESDAY)
    play.buy("A", "100", "50.01")
    assert play.buy("A", "100", "50.01").status == status


# Money


def test_a_buy_and_a_sell_move_cash_by_value_and_fee(tmp_path):
    play = holding(Play(price_file(tmp_path, BARS)), "100")
    # Monday: ask 98.02, so 9802 + 1; Tuesday: bid 49.99, so 4999 - 1
    assert play.state.cash == {"USD": Exact("990197")}
    play.sell("A", "100", "49")
    assert play.state.cash == {"USD": Exact("995195")}
    assert play.state.positions == {}


def test_in_another_base_currency_a_buy_lends_in_the_currency_of_the_instrument(tmp_path):
    play = Play(price_file(tmp_path, BARS), Terms(base_currency="AUD", fx={"USD": Exact("1.5")}))
    play.slot(TUESDAY)
    play.buy("A", "100", "51")
    fill = play.executions[0]
    assert play.state.cash == {"AUD": Exact(1_000_000), "USD": Exact(-5002)}
    assert (str(fill.fx), fill.currency, str(fill.fee), fill.fee_currency) == ("1.5", "USD", "1", "USD")
    # 1,000,000 - 5002 x 1.5 + 100 x 50 x 1.5
    assert net_liquidation(play.exchange, play.state) == Exact("999997")


@pytest.mark.parametrize(("cash", "status"), [("7503", "working"), ("7502.99", "rejected")])
def test_in_another_base_currency_the_cash_needed_is_converted(tmp_path, cash, status):
    # (100 x 50.01 + 1) x 1.5
    play = Play(price_file(tmp_path, BARS), Terms(base_currency="AUD", cash=Exact(cash), fx={"USD": Exact("1.5")}))
    play.slot(TUESDAY)
    assert play.buy("A", "100", "50.01").status == status


def test_net_liquidation_values_holdings_at_the_last_price(closes):
    closes.buy("A", "10", "150")
    closes.close(TUESDAY)
    # 1,000,000 - 1105.55 - 1 + 1105.55
    assert net_liquidation(closes.exchange, closes.state) == Exact("999999")
    closes.slot(WEDNESDAY)
    closes.close(WEDNESDAY)
    assert net_liquidation(closes.exchange, closes.state) == Exact("999793.45")


# Time


def test_a_time_that_has_come_already_changes_nothing(closes):
    before = closes.state
    assert closes.slot(TUESDAY).state is before
    assert closes.slot(MONDAY).state is before


def test_fills_at_the_close_carry_the_time_of_the_close_whenever_it_is_noticed(closes):
    closes.buy("A", "10", "150")
    closes.slot(WEDNESDAY)
    assert [fill.at for fill in closes.executions] == ["2022-10-04T20:00:00.000000Z"]
    assert [str(fill.price) for fill in closes.executions] == ["110.555"]
    assert closes.state.clock == "2022-10-05T14:30:00.000000Z"


def test_an_order_placed_at_the_open_is_matched_at_that_sessions_close(closes):
    closes.slot(WEDNESDAY)
    closes.buy("A", "10", "100")
    closes.close(WEDNESDAY)
    assert closes.fills() == [("10", "90", "1")]


def test_a_session_that_has_not_opened_is_refused(closes):
    session = Session(2, WEDNESDAY, "2022-10-05T13:30:00.000000Z", "2022-10-05T20:00:00.000000Z")
    with pytest.raises(ValueError, match="opens at"):
        closes.submit(Advance("2022-10-05T13:29:00.000000Z", "watch", session))
