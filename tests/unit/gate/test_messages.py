"""What a blocked order is told, word for word: this is what an agent learns from."""

from typing import Any

import pytest

from services.gate.blocks import named
from services.gate.market import SessionView
from shared.protocol.instants import parse
from shared.protocol.market import QuoteKind
from shared.protocol.money import Exact
from shared.protocol.reasons import Rule
from tests.unit.gate.given import AUD_FEES, OPEN, book, decided, judged, market, order, policy, quote, why, working


def told(rule: Rule, proposed: Any, rules: Any = None, on: Any = None, **seen: Any) -> str:
    """The message of a rule."""
    rules = rules or policy()
    quotes = seen.pop("quotes", ())
    return why(decided(proposed, rules=rules, on=on, seen=market(rules, *quotes, **seen)), rule).message


@pytest.mark.parametrize(
    ("rule", "proposed", "message"),
    [
        (Rule.SIDE, order("HOLD"), "side 'HOLD' is neither BUY nor SELL"),
        (Rule.INSTRUMENT, order(symbol="ZZZZ"), "'ZZZZ' in 'USD' is not in the universe"),
        (Rule.INSTRUMENT, order(symbol="brk.b"), "'brk.b' in 'USD' is not in the universe; the universe has BRK B:USD"),
        (Rule.EXCHANGE, order(exchange="NYSE"), "AAA:USD trades on SMART, not on 'NYSE'"),
        (
            Rule.FINITE,
            order(quantity="NaN", limit="x"),
            "quantity is NaN, not a finite number; limit price 'x' is not a number within bounds",
        ),
        (
            Rule.FINITE,
            order(quantity="1000000000"),
            "quantity 1000000000 has more than 9 digits before or 8 after the point",
        ),
        (Rule.QUANTITY, order(quantity=None), "quantity is missing: it must be above 0"),
        (Rule.QUANTITY, order(quantity="0"), "quantity is 0: it must be above 0"),
        (Rule.WHOLE_SHARES, order(quantity="1.5"), "quantity 1.5 is not a whole number of shares"),
        (Rule.LIMIT_PRICE, order(limit=None), "limit price is missing: it must be above 0, there are no market orders"),
        (Rule.LIMIT_PRICE, order(limit="-1"), "limit price is -1: it must be above 0, there are no market orders"),
        (
            Rule.COMMISSION,
            order(symbol="VOD", limit="1", currency="GBP"),
            "the commission is unknown: the policy has no schedule for GBP",
        ),
    ],
)
def test_what_an_order_itself_gets_wrong(rule: Rule, proposed: Any, message: str) -> None:
    assert told(rule, proposed) == message


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        ({"last": "-1"}, "no reference price for AAA:USD: its quote gives none"),
        ({"at": "2022-10-03T14:00:00.000000Z"}, "the quote of AAA:USD is 1800 s old, at most 1200 s pass"),
        ({"at": "2022-10-03T14:30:07.500000Z"}, "the quote of AAA:USD is 7.5 s from the future"),
        ({"kind": QuoteKind.FROZEN}, "the quote of AAA:USD is of kind frozen; admitted: live, delayed, sim"),
    ],
)
def test_what_is_wrong_with_a_quote(seen: dict[str, Any], message: str) -> None:
    rules = policy()
    decision = decided(order(), rules=rules, seen=market(rules, quote(**seen)))

    assert [reason.message for reason in decision.reasons] == [message]


def test_a_missing_quote_is_told_from_an_unusable_one() -> None:
    rules = policy()
    seen = market(rules)
    del seen.quotes["AAA:USD"]

    assert (
        why(decided(order(), rules=rules, seen=seen), Rule.QUOTE).message == "no reference price for AAA:USD: there is no quote"
    )


def test_no_kind_may_be_admitted_at_all() -> None:
    assert told(Rule.QUOTE_KIND, order(), policy(quote_kinds=())) == "the quote of AAA:USD is of kind sim; admitted: none"


def test_a_rate_that_is_missing_is_named() -> None:
    assert told(Rule.FX, order(symbol="BHP", limit="40", currency="AUD"), fx={}) == "no rate from AUD into USD"


@pytest.mark.parametrize(
    ("currencies", "message"),
    [
        (("USD",), "the account holds no AUD: the broker would lend it"),
        (None, "it is not known whether the account holds AUD: the broker would lend it"),
    ],
)
def test_a_currency_that_the_broker_would_lend_is_named(currencies: Any, message: str) -> None:
    buy = order(quantity="10", limit="40", symbol="BHP", currency="AUD")

    assert told(Rule.CURRENCY, buy, policy(foreign_currency="deny"), book(currencies=currencies)) == message


@pytest.mark.parametrize(
    ("session", "message"),
    [
        (SessionView(False, None), "SMART is closed or not known to be open"),
        (SessionView(True, parse("2022-10-03T14:40:00.000000Z")), "SMART closes in 600 s, at least 900 s must be left"),
    ],
)
def test_the_exchanges_hours_are_told(session: SessionView, message: str) -> None:
    assert told(Rule.SESSION, order(), sessions={**OPEN, "SMART": session}) == message


def test_an_exchange_that_nobody_names_is_asked_for() -> None:
    held = book(holdings={"OLD:USD": "5"})

    assert (
        told(Rule.SESSION, order("SELL", "5", "100", "OLD"), on=held, quotes=(quote("OLD"),))
        == "the exchange of OLD:USD is not known"
    )


@pytest.mark.parametrize(
    ("rule", "proposed", "on", "message"),
    [
        (Rule.CASH, order(quantity="10"), book("950"), "the order costs 1001 USD with commission, 950 is free"),
        (
            Rule.CASH,
            order(),
            book(reserves=False),
            "free cash is unknown: what a working order reserves is not known",
        ),
        (
            Rule.DUPLICATE,
            order("BUY", "5", "99"),
            book("10000", working("BUY", "5", "99")),
            "the same order is at work already: o1",
        ),
        (
            Rule.SELF_TRADE,
            order(),
            book(others=(working("SELL", "5", "100", of="beta"),)),
            "it would trade with our own SELL o1 of book beta at 100",
        ),
        (Rule.VALUATION, order(), book(holdings={"X:USD": "1"}), "the book's value is unknown: no price or rate for X:USD"),
        (Rule.RECONCILIATION, order(), book(reconciled=False), "the last reconciliation with the broker failed"),
        (Rule.DRAWDOWN, order(), book("7000", peak=10000), "drawdown 30 % of the peak 10000, at 25 % buying ends"),
    ],
)
def test_what_stands_against_an_order(rule: Rule, proposed: Any, on: Any, message: str) -> None:
    assert told(rule, proposed, on=on) == message


def test_a_duplicate_of_an_order_without_an_id_names_its_place_in_the_batch() -> None:
    second = judged(order(), order(), run=None).decisions[1]

    assert why(second, Rule.DUPLICATE).message == "the same order is at work already: order 1 of this batch"


def test_the_share_of_a_commission_is_told_in_the_orders_currency() -> None:
    # min(max(0.01, 5), 1 % of 40) = 0.4 is 1 %
    rules = policy(fees=(AUD_FEES,), max_commission_pct=Exact("0.5"))
    message = told(Rule.COMMISSION_SHARE, order(symbol="BHP", limit="40", currency="AUD"), rules)

    assert message == "commission 0.4 is 1 % of the order's 40 AUD, at most 0.5 % pass"


@pytest.mark.parametrize(("count", "text"), [(1, "A0"), (5, "A0, A1, A2, A3, A4"), (6, "A0, A1, A2, A3, A4 and 1 more")])
def test_a_long_list_of_names_is_cut(count: int, text: str) -> None:
    assert named(tuple(f"A{index}" for index in range(count))) == text
