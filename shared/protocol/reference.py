"""The reference price of a quote: one rule for valuation, judgement and sources (`gate.md`, section 2)."""

from collections.abc import Collection
from decimal import Decimal
from typing import Final

from shared.protocol.market import Quote, QuoteKind
from shared.protocol.money import Exact, divide, wide_context

_TWO: Final = Decimal(2)


def reference_price(quote: Quote, kinds: Collection[QuoteKind]) -> Exact | None:
    """`last` if it is inside bid/ask (or there is none), else their middle, else, if `kinds` admits `close`, the previous close.

    In the instrument's currency, positive; None is unknown. A price that is not positive is absent. With one side of the market
    only, `last` must not contradict it and there is no middle. `kinds` are those that the policy admits.
    """
    bid, ask, last = _price(quote.bid), _price(quote.ask), _price(quote.last)
    if last is not None and (bid is None or bid <= last) and (ask is None or last <= ask):
        return last
    if bid is not None and ask is not None:
        with wide_context():
            return divide(bid + ask, _TWO)
    return _price(quote.close) if QuoteKind.CLOSE in kinds else None


def _price(value: Exact | None) -> Exact | None:
    """The value if it can be a price: positive; brokers write 0 and −1 for "not known"."""
    return value if value is not None and value > 0 else None
