"""Value, drawdown and the peak."""

from decimal import Decimal
from typing import Any

import pytest

from services.gate.numbers import exact_arithmetic
from services.gate.valuation import Peak, drawdown_pct, holding_rows, next_peak, quote_digest, value_book
from shared.protocol.market import QuoteKind
from shared.protocol.money import Exact
from tests.unit.gate.given import market, policy, quote

HELD = {"AAA:USD": Exact(10), "BHP:AUD": Exact(3)}
FIRST, SECOND, THIRD = (f"2022-10-03T{time}:00.000000Z" for time in ("14:30", "15:00", "15:30"))


def valued(holdings: dict[str, Exact], *quotes: Any, fx: Any = None, **limits: Any) -> Any:
    rules = policy(**limits)
    with exact_arithmetic():
        return value_book(Decimal(1000), holdings, market(rules, *quotes, fx=fx))


def test_value_is_cash_and_holdings_at_reference_in_base_currency() -> None:
    # 1000 + 10 × 100 + 3 × 40 × 0.65
    assert valued(HELD) == (Decimal(2078), Decimal(1078), ())


def test_a_book_that_holds_nothing_is_worth_its_cash() -> None:
    assert valued({}).value == 1000


@pytest.mark.parametrize(
    ("quotes", "fx", "unpriced"),
    [
        ((quote(last=None),), None, ("AAA:USD",)),
        ((quote(last="-1"),), None, ("AAA:USD",)),
        ((quote(last=None, close="100"),), None, ("AAA:USD",)),
        ((), {}, ("BHP:AUD",)),
        ((), {"AUD": "0"}, ("BHP:AUD",)),
        ((quote(last=None),), {}, ("AAA:USD", "BHP:AUD")),
    ],
)
def test_a_holding_without_price_or_rate_makes_the_value_unknown(quotes: Any, fx: Any, unpriced: tuple[str, ...]) -> None:
    found = valued(HELD, *quotes, fx=fx)

    assert (found.value, found.unpriced) == (None, unpriced)


def test_a_closed_markets_close_values_a_holding_where_the_policy_admits_it() -> None:
    kinds = (QuoteKind.SIM, QuoteKind.CLOSE)

    assert valued(HELD, quote(last=None, close="90"), quote_kinds=kinds).value == 1978


def test_holdings_are_listed_by_key_with_what_is_unknown_left_open() -> None:
    rules = policy()
    with exact_arithmetic():
        rows = holding_rows(HELD, market(rules, quote(last=None)))

    assert [(row.symbol, row.price, row.value) for row in rows] == [("AAA", None, None), ("BHP", Exact(40), Exact(78))]


def test_value_is_exact_where_28_digits_are_not_enough() -> None:
    holdings = {"AAA:USD": Exact("123456789.12345678")}
    found = valued(holdings, quote(last="1.000000000000000001"))

    # q × (1 + 10⁻¹⁸) = q + q × 10⁻¹⁸
    assert str(found.exposure) == "123456789.12345678012345678912345678"


@pytest.mark.parametrize(
    ("value", "peak", "expected"),
    [
        ("75", "100", "25"),
        ("100", "100", "0"),
        ("101", "100", "0"),
        ("0", "100", "100"),
        ("2", "3", "33.33333333"),
        ("0", "0", "0"),
    ],
)
def test_drawdown_is_the_fall_from_the_larger_of_peak_and_value(value: str, peak: str, expected: str) -> None:
    assert str(drawdown_pct(Exact(value), Exact(peak))) == expected


def seen(value: str | None, before: Peak, at: str, digest: str) -> Peak:
    return next_peak(before, None if value is None else Exact(value), digest, at)


OPENED = Peak(Exact(100), None, "")


def test_the_peak_rises_to_what_two_consecutive_runs_saw() -> None:
    first = seen("120", OPENED, FIRST, "d1")
    second = seen("110", first, SECOND, "d2")
    third = seen("130", second, THIRD, "d3")

    assert [str(peak.peak) for peak in (first, second, third)] == ["100", "110", "110"]
    assert [str(peak.previous) for peak in (first, second, third)] == ["120", "110", "130"]


def test_the_peak_never_falls() -> None:
    first = seen("50", OPENED, FIRST, "d1")

    assert seen("60", first, SECOND, "d2").peak == 100


def test_a_single_bad_high_tick_makes_no_peak() -> None:
    first = seen("100", OPENED, FIRST, "d1")
    bad = seen("900", first, SECOND, "d2")

    assert seen("101", bad, THIRD, "d3").peak == 101


def test_runs_whose_held_names_carry_the_same_quote_times_count_once() -> None:
    first = seen("900", OPENED, FIRST, "d1")

    assert seen("900", first, SECOND, "d1") == first
    assert seen("900", first, SECOND, "d2").peak == 900


@pytest.mark.parametrize(
    ("at", "counts"),
    [("2022-10-03T14:59:59.999999Z", False), ("2022-10-03T15:00:00.000000Z", True), ("2022-10-03T14:30:00.000000Z", False)],
)
def test_two_runs_are_30_minutes_apart(at: str, counts: bool) -> None:
    first = seen("120", OPENED, FIRST, "d1")
    second = seen("120", first, at, "d2")

    assert (second == first) is not counts
    assert second.peak == (120 if counts else 100)


def test_a_run_that_saw_no_value_breaks_the_chain() -> None:
    first = seen("120", OPENED, FIRST, "d1")
    unknown = seen(None, first, SECOND, "d2")
    third = seen("125", unknown, THIRD, "d3")

    assert (unknown.peak, unknown.previous) == (Exact(100), None)
    assert (third.peak, third.previous) == (Exact(100), Exact(125))


def test_a_book_of_cash_alone_is_seen_afresh_at_each_run() -> None:
    rules = policy()
    digest = quote_digest({}, market(rules))
    first = seen("120", OPENED, FIRST, digest)

    assert seen("120", first, SECOND, digest).peak == 120


def test_the_digest_is_that_of_the_held_names_quote_times() -> None:
    rules = policy()
    held = {"AAA:USD": Exact(1)}
    usual = quote_digest(held, market(rules))

    assert quote_digest(held, market(rules, quote(last="200"))) == usual
    assert quote_digest(held, market(rules, quote("BBB", at=SECOND))) == usual
    assert quote_digest(held, market(rules, quote(at=SECOND))) != usual
    assert quote_digest({"BBB:USD": Exact(1)}, market(rules)) != usual
