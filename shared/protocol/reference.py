"""The reference price of a quote: one rule for valuation, judgement and sources (`gate.md`, section 2)."""

from collections.abc import Collection
from decimal import Decimal
from typing import Final

from shared.protocol.market import Quote, QuoteKind
from shared.protocol.money import ZERO, Exact, wide_context

MAX_PRICE: Final = Decimal(10) ** 12
"""A price at or above this is a fault of its source, not a price."""

_HALF: Final = Decimal("0.5")


def reference_price(quote: Quote, kinds: Collection[QuoteKind]) -> Decimal | None:
    """`last` if inside bid and ask (or without them), else their middle, else, if `kinds` admits `close`, the previous close.

    In the instrument's currency, exact and positive; None is unknown. Of a one-sided quote the known side still counts: a `last`
    beyond it is not believed, and there is no middle. `kinds` are those that the policy admits.
    """
    bid, ask, last = quote.bid, quote.ask, quote.last
    if bid is not None and ask is not None and last is not None and ZERO < bid <= last <= ask < MAX_PRICE:
        return last  # by far the most quotes: a book of 1,000 names is valued at each judgement
    bid, ask, last = _known(bid), _known(ask), _known(last)
    if last is not None and (bid is None or bid <= last) and (ask is None or last <= ask):
        return last
    if bid is not None and ask is not None:
        with wide_context():
            return (bid + ask) * _HALF
    return _known(quote.close) if QuoteKind.CLOSE in kinds else None


def _known(price: Exact | None) -> Exact | None:
    """A price, unless it is one of the numbers that sources send for none (0, −1, absurd ones)."""
    return price if price is not None and ZERO < price < MAX_PRICE else None
