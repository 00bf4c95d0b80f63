"""`equal_weight`: every name the same share, on the first two sessions of the window and of each month."""

import pytest
from msgspec.structs import replace

from services.agent.sources.equal_weight import EqualWeight
from services.agent.sources.rebalance import is_rebalance_day
from shared.protocol.market import ProposedOrder
from shared.protocol.reasons import StopReason
from tests.unit.agent.views import SESSIONS, view


def rows(orders: tuple[ProposedOrder, ...]) -> list[tuple[str, str, str | None, str | None]]:
    """Symbol, side, quantity and limit of each order."""
    return [(order.symbol, order.side, order.quantity, order.limit) for order in orders]


def test_a_window_that_starts_in_mid_month_rebalances_on_its_first_two_sessions_and_the_first_two_of_each_month() -> None:
    days = [session for index, session in enumerate(SESSIONS) if is_rebalance_day(SESSIONS, index)]

    assert days == ["2022-09-14", "2022-09-15", "2022-10-03", "2022-10-04", "2022-11-01", "2022-11-02"]


def test_a_window_that_starts_on_the_last_session_of_a_month_rebalances_three_times_in_a_row() -> None:
    sessions = ("2022-09-30", "2022-10-03", "2022-10-04", "2022-10-05")

    assert [is_rebalance_day(sessions, index) for index in range(4)] == [True, True, True, False]


def test_a_january_is_another_month_than_the_january_before() -> None:
    sessions = ("2021-01-28", "2021-01-29", "2022-01-03", "2022-01-04", "2022-01-05")

    assert [is_rebalance_day(sessions, index) for index in range(5)] == [True, True, True, True, False]


def test_a_new_book_buys_the_whole_shares_that_fit_into_each_share_of_the_value() -> None:
    # 10,000 / 4 = 2,500 each: 2500/100 = 25; 2500/333 = 7.5; 2500/2501 = 0.99; 2500/3 = 833.3
    proposal = EqualWeight().propose(view({"AAA": "100", "BBB": "333", "CCC": "2501", "DDD": "3"}))

    # BUY limits: 101; 336.33; none; 3.03
    assert rows(proposal.orders) == [("AAA", "BUY", "25", "101"), ("BBB", "BUY", "7", "336.33"), ("DDD", "BUY", "833", "3.03")]
    assert proposal.stop_reason is StopReason.SUBMITTED


def test_with_twenty_names_each_gets_a_twentieth() -> None:
    prices = {f"N{number:02d}": "50" for number in range(20)}

    proposal = EqualWeight().propose(view(prices))

    # 10,000 / 20 = 500 = 10 shares of 50
    assert [order.quantity for order in proposal.orders] == ["10"] * 20


def test_limits_are_rounded_towards_the_reference_to_a_cent() -> None:
    # value 1,000 for two names: 500 each. AAA: 500/10.37 = 48.2; BBB holds 60 of 9.03, wanted 500/9.03 = 55.3
    proposal = EqualWeight().propose(view({"AAA": "10.37", "BBB": "9.03"}, value="1000", held={"BBB": "60"}))

    # BUY 10.37 × 1.01 = 10.4737, down to 10.47; SELL 9.03 × 0.99 = 8.9397, up to 8.94
    assert rows(proposal.orders) == [("AAA", "BUY", "48", "10.47"), ("BBB", "SELL", "5", "8.94")]


def test_a_limit_that_is_whole_cents_already_stays() -> None:
    proposal = EqualWeight().propose(view({"AAA": "100", "BBB": "200"}, value="1000", held={"BBB": "3"}))

    # SELL 200 × 0.99 = 198 exactly; BUY 100 × 1.01 = 101 exactly
    assert rows(proposal.orders) == [("AAA", "BUY", "5", "101"), ("BBB", "SELL", "1", "198")]


def test_sells_and_buys_stand_mixed_in_symbol_order() -> None:
    held = {"DDD": "9", "BBB": "9"}

    proposal = EqualWeight().propose(view({"CCC": "100", "AAA": "100", "DDD": "100", "BBB": "100"}, value="2000", held=held))

    assert [(order.symbol, order.side) for order in proposal.orders] == [
        ("AAA", "BUY"),
        ("BBB", "SELL"),
        ("CCC", "BUY"),
        ("DDD", "SELL"),
    ]


def test_class_shares_stand_where_their_symbol_stands() -> None:
    proposal = EqualWeight().propose(view({"BRKS": "10", "BRK B": "10", "BRK": "10"}))

    assert [order.symbol for order in proposal.orders] == ["BRK", "BRK B", "BRKS"]


def test_the_second_day_buys_only_what_did_not_fill_on_the_first() -> None:
    prices = {"AAA": "100", "BBB": "100"}

    # 10,000 / 2 / 100 = 50 each; AAA filled whole, BBB 30 of 50
    proposal = EqualWeight().propose(view(prices, index=1, held={"AAA": "50", "BBB": "30"}))

    assert rows(proposal.orders) == [("BBB", "BUY", "20", "101")]


def test_a_difference_under_one_share_is_skipped() -> None:
    # 1,000 / 2 = 500: 500/100 = 5 wanted, 4.5 held (+0.5) and 5.9 held (−0.9)
    proposal = EqualWeight().propose(view({"AAA": "100", "BBB": "100"}, value="1000", held={"AAA": "4.5", "BBB": "5.9"}))

    assert proposal.orders == ()
    assert proposal.stop_reason is StopReason.SUBMITTED


def test_a_name_without_a_price_is_skipped_and_said_and_keeps_its_share_of_the_value() -> None:
    proposal = EqualWeight().propose(view({"AAA": "100", "BBB": None}, held={"BBB": "3"}))

    # still 10,000 / 2 / 100 = 50, not 100
    assert rows(proposal.orders) == [("AAA", "BUY", "50", "101")]
    assert "skipped, no price known: BBB:USD" in proposal.summary


def test_a_name_whose_currency_has_no_rate_is_skipped_and_said() -> None:
    proposal = EqualWeight().propose(replace(view({"AAA": "100"}), fx={}))

    assert proposal.orders == ()
    assert "AAA:USD" in proposal.summary


def test_a_holding_that_left_the_universe_is_sold() -> None:
    proposal = EqualWeight().propose(view({"AAA": "100", "OLD": "20"}, names=["AAA"], held={"AAA": "100", "OLD": "7"}))

    assert rows(proposal.orders) == [("OLD", "SELL", "7", "19.8")]


@pytest.mark.parametrize("value", [None, "0", "-5"])
def test_without_a_known_value_it_holds_and_says_so(value: str | None) -> None:
    proposal = EqualWeight().propose(view({"AAA": "100"}, value=value))

    assert proposal.orders == ()
    assert proposal.stop_reason is StopReason.HELD
    assert "value" in proposal.summary


def test_between_the_rebalancing_days_it_holds() -> None:
    proposal = EqualWeight().propose(view({"AAA": "100"}, index=2))

    assert proposal.orders == ()
    assert proposal.stop_reason is StopReason.HELD
