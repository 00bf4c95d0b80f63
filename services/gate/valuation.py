"""What a book is worth, how far below its peak, and when the peak may rise."""

import hashlib
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Final, NamedTuple

from services.gate.market import Market
from services.gate.numbers import NOTHING, amount, percent
from shared.protocol.events import HoldingValued
from shared.protocol.instants import parse
from shared.protocol.market import split_key
from shared.protocol.money import ZERO, Exact
from shared.protocol.reference import reference_price

RUNS_APART: Final = timedelta(minutes=30)
"""Two runs nearer than this are one observation to the peak."""

_DIGEST_CHARS: Final = 16
_MARK_CHARS: Final = 8
_NO_NAMES: Final = "-"


class Valuation(NamedTuple):
    """A book at one observation, in base currency: `exposure` is what its priced holdings are worth.

    `value` is None if a holding has no price or no rate; those are `unpriced`.
    """

    value: Decimal | None
    exposure: Decimal
    unpriced: tuple[str, ...]


def value_book(cash: Decimal, holdings: Mapping[str, Decimal], market: Market) -> Valuation:
    """Cash + Σ quantity × reference price × FX. Call it inside exact arithmetic."""
    exposure = NOTHING
    unpriced: list[str] = []
    quotes, rates, kinds = market.quotes, market.rates, market.kinds
    for key, quantity in holdings.items():
        quote = quotes.get(key)
        price = None if quote is None else reference_price(quote, kinds)
        rate = None if quote is None else rates.get(quote.currency)
        if price is None or rate is None:
            unpriced.append(key)
        else:
            exposure += quantity * price * rate
    return Valuation(None if unpriced else cash + exposure, exposure, tuple(sorted(unpriced)))


def holding_rows(holdings: Mapping[str, Decimal], market: Market) -> tuple[HoldingValued, ...]:
    """Each holding at its reference price, by instrument key. Call it inside exact arithmetic."""
    return tuple(_row(key, holdings[key], market) for key in sorted(holdings))


def _row(key: str, quantity: Decimal, market: Market) -> HoldingValued:
    """One holding; price in its own currency, value in base."""
    symbol, currency = split_key(key)
    price, rate = market.price(key), market.rates.get(currency)
    value = None if price is None or rate is None else amount(quantity * price * rate)
    return HoldingValued(symbol, currency, amount(quantity), None if price is None else amount(price), value)


def drawdown_pct(value: Decimal, peak: Decimal) -> Exact:
    """(1 − value ÷ max(peak, value)) × 100 to 8 decimals; 0 for a book that never held anything."""
    return percent(peak - value, peak) or ZERO if value < peak else ZERO


class Peak(NamedTuple):
    """The peak of a book with what the next run compares with.

    `previous` is the value seen by the newest run that counted, None if there is none or it saw no value; `quoted` that
    run's time and the digest of the quote times of the names held.
    """

    peak: Exact
    previous: Exact | None
    quoted: str


def next_peak(before: Peak, value: Exact | None, digest: str, at: str) -> Peak:
    """The peak after a run's first valuation: max(old, min(this value, the previous run's)).

    A run within 30 minutes of the one before, or whose held names carry the same quote times, does not count and changes
    nothing; so a single bad tick never makes a peak, not even if a second attempt sees it again.
    """
    if not _counts(before.quoted, digest, at):
        return before
    quoted = f"{at} {digest}"
    if value is None or before.previous is None:
        return Peak(before.peak, value, quoted)
    return Peak(max(before.peak, min(value, before.previous)), value, quoted)


def _counts(quoted: str, digest: str, at: str) -> bool:
    """Whether a run is another observation than the one that `quoted` stands for."""
    if not quoted:
        return True
    time, _, seen = quoted.partition(" ")
    if digest not in {_NO_NAMES} and digest == seen:
        return False
    return parse(at) - parse(time) >= RUNS_APART


def quote_digest(holdings: Mapping[str, Decimal], market: Market) -> str:
    """A digest of the quote times of the names held, `-` if none is held: cash alone is always seen afresh."""
    if not holdings:
        return _NO_NAMES
    lines = (f"{key} {quote.at if (quote := market.quotes.get(key)) else None}" for key in sorted(holdings))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:_DIGEST_CHARS]


def quote_marks(holdings: Mapping[str, Decimal], market: Market) -> str:
    """A mark per name held and its quote's time, in words that are compared one by one; `-` if none is held."""
    if not holdings:
        return _NO_NAMES
    lines = (f"{key} {quote.at if (quote := market.quotes.get(key)) else None}" for key in sorted(holdings))
    return " ".join(hashlib.sha256(line.encode()).hexdigest()[:_MARK_CHARS] for line in lines)
