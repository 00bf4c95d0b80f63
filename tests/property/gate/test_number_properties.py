"""The gate's roundings against fractions."""

from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from services.gate.candidate import read_amount
from services.gate.numbers import exact_arithmetic, most, percent

DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=6)
POSITIVE = st.decimals(allow_nan=False, allow_infinity=False, min_value=Decimal("0.000001"), max_value=10**12, places=6)


@given(DECIMALS, POSITIVE)
def test_a_percentage_is_the_half_even_rounding_of_the_exact_quotient(part: Decimal, whole: Decimal) -> None:
    with exact_arithmetic():
        found = percent(part, whole)

    assert found is not None
    assert Fraction(found) == Fraction(round(Fraction(part) / Fraction(whole) * 100 * 10**8), 10**8)


@given(DECIMALS, POSITIVE, st.booleans())
def test_most_is_the_floor_of_the_exact_quotient(room: Decimal, each: Decimal, fractional: bool) -> None:
    step = 10**8 if fractional else 1
    with exact_arithmetic():
        found = most(room, each, fractional)

    assert Fraction(found) == max(Fraction(Fraction(room) / Fraction(each) * step // 1, step), Fraction(0))


@given(st.text(max_size=80) | st.from_regex(r"[+-]?[0-9]{0,12}\.?[0-9]{0,12}([eE][+-]?[0-9]{1,3})?", fullmatch=True))
def test_any_text_is_a_number_within_bounds_or_has_a_fault(text: str) -> None:
    with exact_arithmetic():
        amount = read_amount(text)

    if amount.fault is None:
        assert amount.value is not None
        assert amount.value == Decimal(text)
        assert abs(amount.value) < 10**9
        assert amount.value * 10**8 == int(amount.value * 10**8)
