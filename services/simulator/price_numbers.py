"""Numbers of a price file: checked as text, brought to canonical text, never guessed."""

import re
from decimal import Decimal
from typing import Final

from services.simulator.price_errors import shown
from shared.protocol.money import NumberError, parse_number, plain

MAX_CHARS: Final = 32
MAX_DIGITS: Final = 12
_SIMPLE: Final = re.compile(r"(?:[1-9][0-9]{0,11}|0(?=\.[0-9]*[1-9]))(?:\.[0-9]{1,12})?", re.ASCII)
_WHOLE: Final = re.compile(r"(?:0|[1-9][0-9]{0,11})(?:\.0{1,12})?", re.ASCII)
_RULE: Final = "write plain digits with a point for decimals, no thousands separators, units or NaN; leave unknown fields empty"


def price(text: str) -> str:
    """Canonical text of a positive price; raises `ValueError` that says what is wrong. The usual spelling takes no arithmetic."""
    if _SIMPLE.fullmatch(text):
        return text.rstrip("0").rstrip(".") if text[-1] == "0" and "." in text else text
    number = _number(text)
    if number <= 0:
        raise ValueError(f"found {shown(text)}: a price is greater than 0; leave the field empty where it is unknown")
    return plain(number)


def volume(text: str) -> str:
    """Canonical text of a volume of 0 or more shares; raises `ValueError` that says what is wrong."""
    if _WHOLE.fullmatch(text):
        return text.partition(".")[0]
    number = _number(text)
    if number < 0:
        raise ValueError(f"found {shown(text)}: a volume is 0 or more; leave the field empty where it is unknown")
    return plain(number)


def _number(text: str) -> Decimal:
    """The number that `text` spells, its length checked before its digits; raises `ValueError`."""
    if len(text) > MAX_CHARS:
        raise ValueError(f"found {shown(text)}: a number has at most {MAX_CHARS} characters")
    try:
        number = parse_number(text)
    except NumberError as error:
        raise ValueError(f"found {shown(text)}, which is not a number: {_RULE}") from error
    exponent = number.as_tuple().exponent
    if number.adjusted() >= MAX_DIGITS or (isinstance(exponent, int) and exponent < -MAX_DIGITS):
        raise ValueError(f"found {shown(text)}: at most {MAX_DIGITS} digits before and after the point")
    return number


def check_order(open_: str | None, high: str | None, low: str | None, close: str | None) -> tuple[str, str] | None:
    """The column and the words of a contradiction between prices of one bar, None if there is none."""
    others = [("open", open_), ("close", close), ("high", high), ("low", low)]
    for name, text in others:
        if text is None:
            continue
        value = Decimal(text)
        if low is not None and value < Decimal(low):
            return "low", f"found low {low} above {name} {text}: correct the bar or remove it"
        if high is not None and value > Decimal(high):
            return "high", f"found high {high} below {name} {text}: correct the bar or remove it"
    return None
