"""The arithmetic of the gate: exact, compared without epsilon, rounded only where something is printed or solved."""

from contextlib import AbstractContextManager
from decimal import ROUND_HALF_EVEN, Context, Decimal, DivisionByZero, Inexact, InvalidOperation, localcontext
from typing import Final

from shared.protocol.money import MAX_EXPONENT, REPORT_DECIMALS, STATE_DECIMALS, Exact, NumberError, rounded

HUNDRED: Final = Decimal(100)
ONE: Final = Decimal(1)
NOTHING: Final = Decimal(0)
REPORT_STEP: Final = Decimal(1).scaleb(-REPORT_DECIMALS)

# Numbers of events have 64 digits within 30 places of the point, so sums of products of eight of them fit. What would not
# fit raises: nothing is ever rounded silently.
_EXACT: Final = Context(prec=1000, rounding=ROUND_HALF_EVEN, traps=[Inexact, InvalidOperation, DivisionByZero])
_PERCENT_SCALE: Final = Decimal(10) ** (REPORT_DECIMALS + 2)
_STEPS_IN_ONE: Final = Decimal(10) ** REPORT_DECIMALS


def exact_arithmetic() -> AbstractContextManager[Context]:
    """A decimal context in which a digit that would be lost raises; judging and valuing run inside it."""
    return localcontext(_EXACT)


def amount(value: Decimal) -> Exact:
    """`value` as it stands in an event: exact, or rounded half-even to 12 decimals where it has over 64 digits."""
    try:
        return Exact(value)
    except NumberError:
        return rounded(value, STATE_DECIMALS)


def percent(part: Decimal, whole: Decimal) -> Exact | None:
    """part ÷ whole × 100, rounded half-even to 8 decimals from the exact quotient.

    None if `whole` is not above 0 or if the result has more than 30 digits before the point.
    """
    if whole <= NOTHING:
        return None
    scaled = part * _PERCENT_SCALE
    if scaled.adjusted() - whole.adjusted() > MAX_EXPONENT:
        return None
    quotient = scaled // whole
    twice = abs(scaled - quotient * whole) * 2
    if twice > whole or (twice == whole and quotient % 2):
        quotient += ONE.copy_sign(part)
    return Exact(quotient.scaleb(-REPORT_DECIMALS))


def most(room: Decimal, each: Decimal, fractional: bool) -> Decimal:
    """The largest number of shares at `each` within `room`: whole ones, or down to 8 decimals if `fractional`; never below 0."""
    if room <= NOTHING:
        return NOTHING
    if not fractional:
        return room // each
    return (room * _STEPS_IN_ONE // each).scaleb(-REPORT_DECIMALS)
