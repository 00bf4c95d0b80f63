"""Evidence: unknown is an answer, and it is no."""

from typing import Any

import pytest

from services.gate.market import SessionView
from shared.protocol.instants import parse
from shared.protocol.market import QuoteKind
from shared.protocol.reasons import Rule
from tests.unit.gate.given import (
    AUD_FEES,
    NOW,
    OPEN,
    USD_FEES,
    book,
    decided,
    market,
    numbers,
    order,
    policy,
    quote,
    rules_of,
    why,
)


def judged_with(*quotes: Any, proposed: Any = None, **limits: Any) -> Any:
    rules = policy(**limits)
    return decided(proposed or order(), rules=rules, seen=market(rules, *quotes))


@pytest.mark.parametrize(
    "fields",
    [
        {"last": None},
        {"last": "0"},
        {"last": "-1"},
        {"last": None, "bid": "99"},
        {"last": None, "close": "100"},
        {"last": "1e12"},
    ],
)
def test_without_a_reference_price_an_order_is_blocked(fields: dict[str, Any]) -> None:
    assert rules_of(judged_with(quote(**fields))) == (Rule.QUOTE,)


def test_without_any_quote_an_order_is_blocked_by_that_alone() -> None:
    rules = policy()
    seen = market(rules)
    del seen.quotes["AAA:USD"]

    assert rules_of(decided(order(limit="500"), rules=rules, seen=seen)) == (Rule.QUOTE,)


def test_the_previous_close_serves_where_the_policy_admits_it() -> None:
    kinds = (QuoteKind.SIM, QuoteKind.CLOSE)

    assert rules_of(judged_with(quote(last=None, close="100"), quote_kinds=kinds)) == ()


@pytest.mark.parametrize(
    ("at", "rules"),
    [
        ("2022-10-03T14:10:00.000001Z", ()),
        ("2022-10-03T14:10:00.000000Z", ()),
        ("2022-10-03T14:09:59.999999Z", (Rule.QUOTE_AGE,)),
        ("2022-10-03T14:30:05.000000Z", ()),
        ("2022-10-03T14:30:05.000001Z", (Rule.QUOTE_AGE,)),
    ],
)
def test_a_quote_is_at_most_1200_s_old_and_5_s_from_the_future(at: str, rules: tuple[Rule, ...]) -> None:
    assert rules_of(judged_with(quote(at=at))) == rules


def test_the_age_is_told_in_seconds() -> None:
    decision = judged_with(quote(at="2022-10-03T14:09:59.500000Z"))

    assert numbers(why(decision, Rule.QUOTE_AGE)) == ("1200", "1200.5", None)


def test_the_policys_own_age_limit_counts() -> None:
    at = "2022-10-03T14:29:00.000000Z"

    assert rules_of(judged_with(quote(at=at), max_quote_age_s=60)) == ()
    assert rules_of(judged_with(quote(at=at), max_quote_age_s=59)) == (Rule.QUOTE_AGE,)


@pytest.mark.parametrize(
    ("kind", "rules"),
    [("live", ()), ("delayed", ()), ("sim", ()), ("frozen", (Rule.QUOTE_KIND,)), ("close", (Rule.QUOTE_KIND,))],
)
def test_only_admitted_kinds_of_quotes_count(kind: str, rules: tuple[Rule, ...]) -> None:
    assert rules_of(judged_with(quote(kind=QuoteKind(kind)))) == rules


def test_a_quote_that_does_not_count_is_no_price_for_the_limits() -> None:
    stale = quote(last="200", at="2022-10-03T14:00:00.000000Z")

    assert rules_of(judged_with(stale)) == (Rule.QUOTE_AGE,)


@pytest.mark.parametrize("fx", [{}, {"AUD": "0"}, {"AUD": "-0.65"}, {"AUD": "0.0000000000001"}, {"AUD": "1000000"}])
def test_without_a_usable_rate_a_foreign_order_is_blocked(fx: dict[str, str]) -> None:
    rules = policy()
    seen = market(rules, fx=fx)

    assert rules_of(decided(order(limit="40", symbol="BHP", currency="AUD"), rules=rules, seen=seen)) == (Rule.FX,)


def test_the_base_currency_needs_no_rate() -> None:
    rules = policy()

    assert rules_of(decided(order(), rules=rules, seen=market(rules, fx={}))) == ()


def test_the_base_currencys_rate_is_one_whatever_the_evidence_says() -> None:
    rules = policy()
    decision = decided(order(quantity="10"), rules=rules, seen=market(rules, fx={"USD": "2"}))

    assert str(decision.notional) == "1000"
    assert str(decision.fx) == "1"


def test_without_a_rate_what_needs_none_is_judged_all_the_same() -> None:
    rules = policy()
    seen = market(rules, fx={})
    off = order(limit="50", symbol="BHP", currency="AUD")

    assert rules_of(decided(off, rules=rules, seen=seen)) == (Rule.FX, Rule.PRICE_COLLAR)


def test_an_instrument_whose_currency_has_no_schedule_has_an_unknown_commission() -> None:
    rules = policy(fees=(USD_FEES, AUD_FEES))
    decision = decided(order(limit="1", symbol="VOD", currency="GBP"), rules=rules)

    assert rules_of(decision) == (Rule.COMMISSION,)
    assert decision.commission is None
    assert str(decision.notional) == "1.1"


def test_without_a_commission_what_needs_none_is_judged_all_the_same() -> None:
    decision = decided(order(limit="2", symbol="VOD", currency="GBP"), on=book(used_month=10))

    assert rules_of(decision) == (Rule.COMMISSION, Rule.PRICE_COLLAR, Rule.MONTHLY_ORDERS)


@pytest.mark.parametrize(
    ("currencies", "rules"),
    [(("AUD", "USD"), ()), (("USD",), (Rule.CURRENCY,)), ((), (Rule.CURRENCY,)), (None, (Rule.CURRENCY,))],
)
def test_with_deny_a_buy_needs_its_currency_held_at_the_broker(
    currencies: tuple[str, ...] | None, rules: tuple[Rule, ...]
) -> None:
    buy = order(quantity="10", limit="40", symbol="BHP", currency="AUD")
    on = book(currencies=currencies)

    assert rules_of(decided(buy, rules=policy(foreign_currency="deny", max_commission_pct=100), on=on)) == rules
    assert rules_of(decided(buy, rules=policy(foreign_currency="allow", max_commission_pct=100), on=on)) == ()


def test_with_deny_base_currency_and_sells_pass() -> None:
    rules = policy(foreign_currency="deny")
    on = book(holdings={"BHP:AUD": "10"}, currencies=())

    assert rules_of(decided(order(), rules=rules, on=on)) == ()
    assert rules_of(decided(order("SELL", "10", "40", "BHP", "AUD"), rules=rules, on=on)) == ()


@pytest.mark.parametrize(
    ("session", "rules"),
    [
        (SessionView(True, parse("2022-10-03T14:45:00.000001Z")), ()),
        (SessionView(True, parse("2022-10-03T14:45:00.000000Z")), ()),
        (SessionView(True, parse("2022-10-03T14:44:59.999999Z")), (Rule.SESSION,)),
        (SessionView(True, None), (Rule.SESSION,)),
        (SessionView(False, parse("2022-10-03T20:00:00.000000Z")), (Rule.SESSION,)),
        (SessionView(False, None), (Rule.SESSION,)),
        (None, (Rule.SESSION,)),
    ],
)
def test_the_instruments_own_exchange_is_open_for_15_minutes_more(session: SessionView | None, rules: tuple[Rule, ...]) -> None:
    given = policy()
    sessions = {**OPEN, "SMART": session} if session else {"ASX": OPEN["ASX"]}

    assert rules_of(decided(order(), rules=given, seen=market(given, sessions=sessions))) == rules


def test_another_exchanges_hours_do_not_count() -> None:
    rules = policy(max_commission_pct=100)
    seen = market(rules, sessions={**OPEN, "SMART": SessionView(False, None)})

    assert rules_of(decided(order(limit="40", symbol="BHP", currency="AUD"), rules=rules, seen=seen)) == ()


def test_all_of_evidence_is_evaluated_then_the_limits_that_need_none_of_it() -> None:
    rules = policy(fees=())
    seen = market(rules, quote(at="2022-10-03T14:00:00.000000Z", kind=QuoteKind.FROZEN), sessions={"ASX": OPEN["ASX"]})
    decision = decided(order(limit="500"), rules=rules, on=book(used_month=10), seen=seen)

    assert rules_of(decision) == (Rule.QUOTE_AGE, Rule.QUOTE_KIND, Rule.COMMISSION, Rule.SESSION, Rule.MONTHLY_ORDERS)
    assert str(decision.largest) == "0"


def test_time_is_that_of_the_evidence() -> None:
    rules = policy()
    later = market(rules, at="2022-10-03T14:50:00.000001Z")

    assert rules_of(decided(order(), rules=rules, seen=later)) == (Rule.QUOTE_AGE,)
    assert rules_of(decided(order(), rules=rules, seen=market(rules, at=NOW))) == ()
