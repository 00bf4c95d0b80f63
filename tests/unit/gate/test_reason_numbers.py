"""Numbers and words of reasons that other tests look at only in part."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from services.gate.market import SessionView
from services.gate.numbers import exact_arithmetic
from services.gate.rules import limits
from shared.protocol.instants import parse
from shared.protocol.market import Instrument
from shared.protocol.money import Exact
from shared.protocol.policy import Commission
from shared.protocol.reasons import Rule
from tests.unit.gate.given import NOW, book, decided, market, numbers, order, policy, why
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
