"""Price jumps between two sessions that look like a share split which the file does not account for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final

from services.simulator.price_rows import Fields

FACTORS: Final = tuple(Decimal(factor) for factor in (2, 3, 4, 5, 6, 7, 8, 10, 15, 20, 25, 50))
"""Splits that occur; 3:2 is left out, because ordinary bad days look like it."""
TOLERANCE: Final = Decimal("0.02")
_SCREEN: Final = Decimal("1.9")


@dataclass(frozen=True, slots=True)
class Jump:
    """From `before` (the last close) to `after` (the session's open, its close where the open is unknown) on `day`.

    `ratio` is as splits are spoken of: `4:1` for a price that fell to a quarter, `1:4` for one that rose fourfold.
    """

    symbol: str
    day: date
    before: Decimal
    after: Decimal
    ratio: str

    @property
    def text(self) -> str:
        """The warning."""
        prices = f"from {self.before:f} to {self.after:f}"
        return f"{self.symbol} on {self.day}: {prices} looks like a {self.ratio} split; holdings are not adjusted"


def find_jumps(symbol: str, sessions: Sequence[date], column: Sequence[Fields | None]) -> Iterator[Jump]:
    """Jumps of one symbol, oldest first. Where opens are known only what happened overnight counts."""
    before: Decimal | None = None
    for index, fields in enumerate(column):
        if fields is None or fields.close is None:
            continue
        close = Decimal(fields.close)
        after = close if fields.open is None else Decimal(fields.open)
        if before is not None and (ratio := _ratio(before, after)):
            yield Jump(symbol, sessions[index], before, after, ratio)
        before = close


def _ratio(before: Decimal, after: Decimal) -> str | None:
    """`n:1`, `1:n` or None."""
    if before > after * _SCREEN:
        return next((f"{factor}:1" for factor in FACTORS if _near(before, after * factor)), None)
    if after > before * _SCREEN:
        return next((f"1:{factor}" for factor in FACTORS if _near(after, before * factor)), None)
    return None


def _near(value: Decimal, target: Decimal) -> bool:
    """Whether `value` is within `TOLERANCE` of `target`, the edge included."""
    return abs(value - target) <= target * TOLERANCE
