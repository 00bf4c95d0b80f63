"""Exact decimal numbers and the amounts made of them.

`Exact` is the only number that stands in an event. It is a `Decimal` in canonical form: finite, no exponent, no trailing
zeros, no minus before zero. `mypy` therefore refuses an event built from a number that was not normalised.
"""

import re
from contextlib import AbstractContextManager
from decimal import (
    ROUND_CEILING,
    ROUND_FLOOR,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    Inexact,
    InvalidOperation,
    Rounded,
    localcontext,
)
from typing import Any, Final, Self

import msgspec

MAX_NUMBER_CHARS: Final = 64
MAX_EXPONENT: Final = 30
STATE_DECIMALS: Final = 12
REPORT_DECIMALS: Final = 8

CANONICAL_NUMBER: Final = re.compile(r"(?:0|-?(?:[1-9][0-9]*|0(?=\.[0-9]*[1-9]))(?:\.[0-9]*[1-9])?)", re.ASCII)
NUMBER_TEXT: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?", re.ASCII)

_LOSSLESS: Final = Context(prec=MAX_NUMBER_CHARS, traps=[Inexact, Rounded, InvalidOperation])
_NORMAL: Final = Context(prec=MAX_NUMBER_CHARS, traps=[Inexact, InvalidOperation])
_DIVISION: Final = Context(prec=50, rounding=ROUND_HALF_EVEN)
_WIDE: Final = Context(prec=150, rounding=ROUND_HALF_EVEN, traps=[InvalidOperation])
_ONE: Final = Decimal(1)
_ZERO: Final = Decimal(0)
_normalize: Final = _NORMAL.normalize
_new: Final = Decimal.__new__


class NumberError(ValueError):
    """A text or number that has no canonical form, with what was found."""


def _normal(value: Decimal) -> Decimal:
    """Return `value` in canonical form; raises `NumberError` where it has none within the bounds."""
    if not value.is_finite():
        raise NumberError(f"{value} is not a finite number")
    if not -MAX_EXPONENT <= value.adjusted() <= MAX_EXPONENT and value:
        raise NumberError(f"{value:.6E} is out of range: at most {MAX_EXPONENT} digits before or after the point")
    try:
        normal = _normalize(value)
        if "+" in str(normal):  # 1E+2: the quickest way to see an exponent
            normal = _LOSSLESS.quantize(normal, _ONE)
    except (Inexact, Rounded, InvalidOperation) as error:
        raise NumberError(f"{value:.6E} has more than {MAX_NUMBER_CHARS} digits") from error
    return normal or _ZERO


class Exact(Decimal):
    """A decimal in canonical form; built from `int`, `str` (plain or with exponent) or `Decimal`, never from `float`.

    Raises `NumberError` for NaN, infinities, foreign digits, underscores, blanks, over 64 digits or exponents beyond 30.
    """

    __slots__ = ()

    def __new__(cls, value: "int | str | Decimal" = 0) -> Self:
        """Normalise `value`."""
        if type(value) is Decimal:  # a result of arithmetic: nearly all that is made while folding
            return _new(cls, _normal(value))
        if type(value) is cls:
            return value
        if isinstance(value, str):
            return _new(cls, parse_number(value))
        if isinstance(value, float):
            raise NumberError("a float is no exact number: give text or Decimal")
        return _new(cls, _normal(Decimal(value)))

    @classmethod
    def read(cls, text: str) -> Self:
        """Take `text` only if it is in canonical form already; the way back from an event."""
        if len(text) > MAX_NUMBER_CHARS or not CANONICAL_NUMBER.fullmatch(text):
            raise NumberError(f"{text[:MAX_NUMBER_CHARS]!r} is not a number in canonical form")
        return _new(cls, text)

    def __str__(self) -> str:
        """Plain notation: never an exponent."""
        return super().__format__("f")

    def __format__(self, spec: str, /, *args: Any) -> str:
        """As `Decimal`, but plain notation where no format is asked for, so that messages never show an exponent."""
        return super().__format__(spec or "f")

    def __repr__(self) -> str:
        """The text that `Exact` takes back."""
        return f"Exact('{self}')"

    def __reduce__(self) -> tuple[Any, ...]:
        """Survive pickling with the type kept."""
        return (Exact, (str(self),))


def parse_number(text: str) -> Decimal:
    """Read a number from foreign text: ASCII digits, one optional sign, point and exponent, within bounds.

    Raises `NumberError` naming the text. Length and exponent are checked before any arithmetic.
    """
    if len(text) > MAX_NUMBER_CHARS or not NUMBER_TEXT.fullmatch(text):
        raise NumberError(
            f"{text[:MAX_NUMBER_CHARS]!r} is not a number (ASCII digits, one point, at most {MAX_NUMBER_CHARS} characters)"
        )
    return _normal(Decimal(text))


def plain(value: Decimal) -> str:
    """Return `value` as canonical text."""
    return str(Exact(value))


def wide_context() -> AbstractContextManager[Context]:
    """A decimal context in which sums and products of amounts are exact; wrap arithmetic on amounts in it."""
    return localcontext(_WIDE)


def divide(numerator: Decimal, denominator: Decimal) -> Exact:
    """Divide with 50 digits and round half-even to 12 decimals, the rule for everything that enters state."""
    return rounded(_DIVISION.divide(numerator, denominator), STATE_DECIMALS)


def rounded(value: Decimal, decimals: int) -> Exact:
    """Round half-even to `decimals` decimals."""
    return Exact(value.quantize(_ONE.scaleb(-decimals), rounding=ROUND_HALF_EVEN, context=_DIVISION))


def two_decimals(value: Decimal) -> str:
    """Text with exactly two decimals, half-even, for reports: `1.50`, `-0.25`, `0.00`."""
    cents = value.quantize(Decimal("0.01"), rounding=ROUND_HALF_EVEN, context=_DIVISION)
    return format(cents or abs(cents), "f")


def tick_down(value: Decimal, tick: Decimal) -> Exact:
    """The largest multiple of `tick` that is not above `value`."""
    return Exact((value / tick).to_integral_value(rounding=ROUND_FLOOR) * tick)


def tick_up(value: Decimal, tick: Decimal) -> Exact:
    """The smallest multiple of `tick` that is not below `value`."""
    return Exact((value / tick).to_integral_value(rounding=ROUND_CEILING) * tick)


ZERO: Final = Exact(0)


class Money(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An amount of one currency; adding two currencies is an error, not a guess."""

    amount: Exact
    currency: str

    def __add__(self, other: "Money") -> "Money":
        """Add amounts of the same currency; raises `NumberError` for two currencies."""
        if other.currency != self.currency:
            raise NumberError(f"{self.currency} and {other.currency} cannot be added")
        return Money(Exact(self.amount + other.amount), self.currency)

    def converted(self, fx: Decimal, currency: str) -> "Money":
        """This amount in `currency` at `fx` units of it per unit of this one; exact, not rounded."""
        return Money(Exact(self.amount * fx), currency)


class Quantity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number of shares, whole or fractional."""

    shares: Exact

    @property
    def is_whole(self) -> bool:
        """Whether there is no fraction of a share."""
        return self.shares == self.shares.to_integral_value()


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A price of one share in one currency."""

    amount: Exact
    currency: str

    def times(self, quantity: Decimal) -> Money:
        """The value of `quantity` shares at this price, exact."""
        return Money(Exact(self.amount * quantity), self.currency)
