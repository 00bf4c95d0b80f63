"""Numbers of the client library, which are floats and sometimes mean "unset": exact here, or absent. Pure."""

import math
from decimal import Decimal
from typing import Final

from shared.protocol.money import Exact, NumberError

HUGE: Final = 1e300
"""The library's unset double is 1.8e308; nothing that counts money comes near this."""


def amount(value: float | Decimal | str | None) -> Exact | None:
    """An amount of either sign; None for what means nothing: not finite, absent, or as large as the unset double."""
    if value is None or value == "" or isinstance(value, bool):
        return None
    try:
        number = float(value)
        if not math.isfinite(number) or abs(number) >= HUGE:
            return None
        return Exact(repr(value) if isinstance(value, float) else str(value))
    except (ValueError, NumberError, OverflowError):
        return None


def positive(value: float | Decimal | str | None) -> Exact | None:
    """A price or a number of shares; None also for 0 and for -1, which the broker sends where there is none."""
    found = amount(value)
    return found if found is not None and found > 0 else None
