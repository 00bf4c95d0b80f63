"""Identity and form: every rule evaluated, every reason kept."""

import pytest

from shared.protocol.reasons import Rule
from tests.unit.gate.given import book, decided, market, numbers, order, policy, quote, rules_of, why


@pytest.mark.parametrize("side", ["BUY", "buy", "Buy"])
def test_a_side_is_read_in_any_case_and_written_in_one(side: str) -> None:
    decision = decided(order(side))

    assert decision.approved
    assert decision.side == "BUY"


@pytest.mark.parametrize("side", ["HOLD", "", "BUY ", "B", "ſell"])
def test_anything_but_buy_and_sell_is_blocked(side: str) -> None:
    decision = decided(order(side))

    assert rules_of(decision) == (Rule.SIDE,)
    assert decision.side == side


def test_an_instrument_outside_the_universe_is_blocked() -> None:
    assert rules_of(decided(order(symbol="ZZZZ"))) == (Rule.INSTRUMENT,)


def test_one_ticker_in_two_currencies_is_two_instruments() -> None:
    assert rules_of(decided(order(symbol="BHP", currency="USD"))) == (Rule.INSTRUMENT,)


@pytest.mark.parametrize("symbol", ["BRK.B", "BRK-B", "brk b", "BRK/B"])
def test_another_spelling_of_a_share_class_is_blocked_with_the_right_one(symbol: str) -> None:
    decision = decided(order(symbol=symbol))

    assert rules_of(decision) == (Rule.INSTRUMENT,)
    assert "BRK B:USD" in why(decision, Rule.INSTRUMENT).message


def test_what_is_held_may_be_sold_but_not_bought_after_it_left_the_universe() -> None:
    rules = policy()
    held = book(holdings={"OLD:USD": "5"}, exchanges={"OLD:USD": "SMART"})
    seen = market(rules, quote("OLD"))

    assert rules_of(decided(order("SELL", "5", "100", "OLD"), rules=rules, on=held, seen=seen)) == ()
    assert rules_of(decided(order("BUY", "5", "100", "OLD"), rules=rules, on=held, seen=seen)) == (Rule.INSTRUMENT,)


def test_a_sell_of_what_is_neither_held_nor_in_the_universe_is_blocked() -> None:
    assert rules_of(decided(order("SELL", "5", "100", "OLD"))) == (Rule.INSTRUMENT,)


@pytest.mark.parametrize(("exchange", "rules"), [(None, ()), ("SMART", ()), ("smart", ()), ("NYSE", (Rule.EXCHANGE,))])
def test_an_exchange_must_be_the_universes_in_any_case(exchange: str | None, rules: tuple[Rule, ...]) -> None:
    assert rules_of(decided(order(exchange=exchange))) == rules


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "nan", "inf", "sNaN"])
def test_a_quantity_or_limit_that_is_not_finite_is_blocked(text: str) -> None:
    assert rules_of(decided(order(quantity=text))) == (Rule.FINITE,)
    assert rules_of(decided(order(limit=text))) == (Rule.FINITE,)


@pytest.mark.parametrize("text", ["", "ten", "1_0", " 1", "١", "1,5", "0x1", "1" * 65, "1e31", "1e-31"])
def test_what_is_no_number_is_blocked_as_not_finite(text: str) -> None:
    assert rules_of(decided(order(quantity=text))) == (Rule.FINITE,)
    assert rules_of(decided(order(limit=text))) == (Rule.FINITE,)


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("100.12345678", ()),
        ("100.123456789", (Rule.FINITE,)),
        ("999999999", (Rule.PRICE_COLLAR, Rule.CASH)),
        ("1000000000", (Rule.FINITE,)),
        ("999999999.99999999", (Rule.PRICE_COLLAR, Rule.CASH)),
    ],
)
def test_a_limit_has_at_most_nine_digits_before_and_eight_after_the_point(text: str, rules: tuple[Rule, ...]) -> None:
    assert rules_of(decided(order(limit=text))) == rules


@pytest.mark.parametrize(
    ("quantity", "rules"),
    [("-1", (Rule.QUANTITY,)), ("0", (Rule.QUANTITY,)), ("-0", (Rule.QUANTITY,)), (None, (Rule.QUANTITY,)), ("1", ())],
)
def test_a_quantity_is_above_zero(quantity: str | None, rules: tuple[Rule, ...]) -> None:
    assert rules_of(decided(order(quantity=quantity))) == rules


@pytest.mark.parametrize(
    ("quantity", "whole", "fractional"),
    [
        ("4.0", (), ()),
        ("4e0", (), ()),
        ("4", (), ()),
        ("1.5", (Rule.WHOLE_SHARES,), ()),
        ("3.99999999", (Rule.WHOLE_SHARES,), ()),
    ],
)
def test_shares_are_whole_unless_the_policy_allows_fractions(
    quantity: str, whole: tuple[Rule, ...], fractional: tuple[Rule, ...]
) -> None:
    assert rules_of(decided(order(quantity=quantity))) == whole
    assert rules_of(decided(order(quantity=quantity), rules=policy(allow_fractional=True))) == fractional


@pytest.mark.parametrize("limit", [None, "0", "-1", "-100"])
def test_there_are_no_market_orders(limit: str | None) -> None:
    assert rules_of(decided(order(limit=limit))) == (Rule.LIMIT_PRICE,)


def test_one_bad_field_never_hides_another() -> None:
    bad = order("HOLD", "-1.5", "0", "ZZZZ")

    assert rules_of(decided(bad)) == (Rule.SIDE, Rule.INSTRUMENT, Rule.QUANTITY, Rule.WHOLE_SHARES, Rule.LIMIT_PRICE)
    assert rules_of(decided(order("HOLD", "NaN", None, "AAA", exchange="X"))) == (
        Rule.SIDE,
        Rule.EXCHANGE,
        Rule.FINITE,
        Rule.LIMIT_PRICE,
    )


def test_a_reason_of_form_carries_what_was_found() -> None:
    assert numbers(why(decided(order(quantity="-3")), Rule.QUANTITY)) == ("0", "-3", None)
    assert numbers(why(decided(order(limit=None)), Rule.LIMIT_PRICE)) == ("0", None, None)


def test_what_fails_identity_or_form_is_judged_no_further() -> None:
    assert rules_of(decided(order(quantity="1.5", limit="500"))) == (Rule.WHOLE_SHARES,)
