"""Numbers and words of reasons that other tests look at only in part."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from services.gate.books import BookView
from services.gate.market import SessionView
from services.gate.numbers import exact_arithmetic
from services.gate.rules import limits
from services.gate.verdict import judge
from shared.protocol.events import Breach
from shared.protocol.instants import parse
from shared.protocol.market import Instrument
from shared.protocol.money import Exact
from shared.protocol.policy import Commission
from shared.protocol.reasons import Rule
from tests.unit.gate.given import NOW, book, decided, market, numbers, order, policy, quote, why
from tests.unit.gate.test_bounds import placed

ALL = Exact(100)


def closing(left: timedelta | None) -> Any:
    """A market whose exchange closes so much later, or is closed."""
    view = SessionView(False, None) if left is None else SessionView(True, parse(NOW) + left)
    return market(policy(), sessions={"SMART": view})


def test_a_session_says_how_long_is_left_and_how_long_must_be() -> None:
    soon = why(decided(order(), seen=closing(timedelta(seconds=899))), Rule.SESSION)
    shut = why(decided(order(), seen=closing(None)), Rule.SESSION)

    assert numbers(soon) == ("900", "899", None)
    assert soon.message == "SMART closes in 899 s, at least 900 s must be left"
    assert numbers(shut) == ("900", None, None)


def test_a_reserve_says_what_would_be_left_of_the_value() -> None:
    # 10000 − 9501 = 499 of 10000
    rules = policy(min_cash_pct=Exact(10), max_position_pct=ALL)
    reason = why(decided(order(quantity="95"), rules=rules), Rule.CASH_RESERVE)

    assert reason.message == "free cash after it is 499, 4.99 % of the book's value 10000; at least 10 % must be left"
    assert numbers(reason) == ("10", "4.99", "89")


@pytest.mark.parametrize("without", ["notional", "commission"])
def test_a_reserve_is_silent_about_an_order_of_unknown_cost(without: str) -> None:
    with exact_arithmetic():
        made, batch = placed(order(quantity="95"), min_cash_pct=Exact(10))
        assert limits.cash_reserve(made, batch) is not None
        setattr(made, without, None)
        assert limits.cash_reserve(made, batch) is None


def test_while_log_and_broker_differ_an_exit_that_is_too_large_says_what_is_at_the_broker() -> None:
    on = book(holdings={"AAA:USD": "10"}, at_broker={"AAA:USD": Exact(4)}, reconciled=False)
    reason = why(decided(order("SELL", "9"), on=on), Rule.HOLDING)

    assert reason.message == "SELL 9 of 10 held; log and broker differ, 4 are at the broker for it"
    assert numbers(reason) == ("4", "9", "4")


def test_the_name_of_a_currency_is_cut_to_three_letters() -> None:
    long = Instrument("LNG", "SMART", "LONG")
    rules = replace(policy(foreign_currency="deny"), universe=(long,))
    decision = decided(order(symbol="LNG", currency="LONG"), rules=rules, on=book(currencies=("USD",)), seen=market(rules))

    assert why(decision, Rule.FX).message == "no rate from LON into USD"
    assert why(decision, Rule.COMMISSION).message == "the commission is unknown: the policy has no schedule for LON"
    assert why(decision, Rule.CURRENCY).message == "the account holds no LON: the broker would lend it"


def test_a_share_of_commission_names_the_currency_by_three_letters() -> None:
    fees = Commission("LONG", Exact(0), Exact(50), ALL)
    rules = replace(policy(fees=(fees,)), universe=(Instrument("LNG", "SMART", "LONG"),))
    decision = decided(order(symbol="LNG", currency="LONG"), rules=rules, seen=market(rules))

    assert why(decision, Rule.COMMISSION_SHARE).message == "commission 50 is 50 % of the order's 100 LON, at most 10 % pass"


def test_a_fraction_is_told_beside_the_step_that_it_misses() -> None:
    assert numbers(why(decided(order(quantity="1.5")), Rule.WHOLE_SHARES)) == ("1", "1.5", None)


def test_a_limit_price_that_is_none_is_told_as_it_is() -> None:
    assert numbers(why(decided(order(limit="-2")), Rule.LIMIT_PRICE)) == ("0", "-2", None)
    assert numbers(why(decided(order(limit=None)), Rule.LIMIT_PRICE)) == ("0", None, None)


def test_what_left_the_universe_is_sold_where_it_was_bought_or_else_where_the_order_says() -> None:
    held = {"ZZZ:USD": "10"}
    seen = market(policy(), quote("ZZZ", "10"))
    sell = order("SELL", "10", "10", "ZZZ", exchange="SMART")

    assert decided(sell, on=book(holdings=held), seen=seen).approved
    nowhere = decided(order("SELL", "10", "10", "ZZZ"), on=book(holdings=held), seen=seen)
    assert [reason.rule for reason in nowhere.reasons] == [Rule.SESSION]
    elsewhere = decided(sell, on=book(holdings=held, exchanges={"ZZZ:USD": "ASX"}), seen=seen)
    assert [reason.rule for reason in elsewhere.reasons] == [Rule.EXCHANGE]


def test_a_breach_says_which_valuation_saw_it() -> None:
    decision = decided(order(), on=book(breach=Breach(1, NOW, "q", None, ("e",))))

    assert why(decision, Rule.DRAWDOWN).message == (
        f"the valuation at {NOW} saw the drawdown limit reached: buying waits for the next one"
    )


def test_a_loss_of_the_day_says_how_much_of_what() -> None:
    rules = policy(max_daily_loss_pct=Exact(5))
    reason = why(decided(order(), rules=rules, on=book("9400", day_start=Exact(9000), day_flows=Exact(1000))), Rule.DAILY_LOSS)

    assert reason.message == "the book lost 600 of 10000 since the start of the day, at 5 % buying ends"
    assert numbers(reason) == ("5", "6", "-100")


@pytest.mark.parametrize("on", [book("9400", day_start=None), book("9400", day_start=Exact(9400)), book(day_start=Exact(9400))])
def test_without_a_start_or_a_loss_no_loss_blocks(on: BookView) -> None:
    assert decided(order(), rules=policy(max_daily_loss_pct=Exact("0.00000001")), on=on).approved


def test_a_loss_of_an_unknown_value_is_not_judged() -> None:
    on = book("9000", day_start=Exact(10_000), holdings={"ZZZ:USD": "1"})
    decision = decided(order(), rules=policy(max_daily_loss_pct=Exact(5)), on=on)

    assert [reason.rule for reason in decision.reasons] == [Rule.VALUATION]


def test_a_proposal_carries_no_mark_unless_it_is_said_to() -> None:
    rules = policy(untrusted="deny")

    assert judge(rules, book(), market(rules), [order()]).decisions[0].approved
