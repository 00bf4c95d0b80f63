"""Exact arithmetic and its roundings."""

from decimal import Decimal, Inexact

import pytest

from services.gate.numbers import amount, exact_arithmetic, most, percent


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [
        ("1", "3", "33.33333333"),
        ("2", "3", "66.66666667"),
        ("-1", "3", "-33.33333333"),
        ("-2", "3", "-66.66666667"),
        ("1", "8", "12.5"),
        ("0", "5", "0"),
        # exact ties go to the even digit
        ("0.00000000005", "1", "0"),
        ("0.00000000015", "1", "0.00000002"),
        ("0.00000000025", "1", "0.00000002"),
        ("-0.00000000015", "1", "-0.00000002"),
        # a hair over the tie goes up, however far behind the point it stands
        ("0.000000000050000000000000000000000000000000000000000000000001", "1", "0.00000001"),
        ("1", "0", None),
        ("1", "-1", None),
        ("1e30", "1e-30", None),
    ],
)
def test_a_percentage_has_8_decimals_half_even_from_the_exact_quotient(part: str, whole: str, expected: str | None) -> None:
    with exact_arithmetic():
        found = percent(Decimal(part), Decimal(whole))

    assert (None if found is None else str(found)) == expected


@pytest.mark.parametrize(
    ("room", "each", "whole", "fractional"),
    [
        ("10", "3", "3", "3.33333333"),
        ("9", "3", "3", "3"),
        ("2.99", "3", "0", "0.99666666"),
        ("0", "3", "0", "0"),
        ("-5", "3", "0", "0"),
    ],
)
def test_most_is_rounded_down(room: str, each: str, whole: str, fractional: str) -> None:
    with exact_arithmetic():
        assert most(Decimal(room), Decimal(each), False) == Decimal(whole)
        assert most(Decimal(room), Decimal(each), True) == Decimal(fractional)


def test_an_amount_is_exact_and_rounded_only_beyond_64_digits() -> None:
    with exact_arithmetic():
        assert str(amount(Decimal("1.50"))) == "1.5"
        assert str(amount(Decimal(10) ** 20 + Decimal(10) ** -30)) == "100000000000000000000.000000000000000000000000000001"
        assert str(amount(Decimal("1.5") + Decimal(10) ** -70)) == "1.5"


def test_a_digit_that_would_be_lost_raises() -> None:
    with exact_arithmetic(), pytest.raises(Inexact):
        Decimal(1) / Decimal(3)
