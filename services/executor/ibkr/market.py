"""Quotes, rates and daily bars. A ticker is read only after its request has ended; what is absent is None, never -1 or 0."""

import math
from collections.abc import Sequence
from typing import Final

from ib_async import BarData, Contract, Ticker

from services.executor.broker import Bar, BrokerRefused
from services.executor.ibkr.codes import Meaning, meaning
from services.executor.ibkr.connection import Link
from services.executor.ibkr.numbers import amount, positive
from shared.protocol.instants import Instant
from shared.protocol.market import Quote, QuoteKind, split_key
from shared.protocol.money import Exact, rounded

KINDS: Final = {1: QuoteKind.LIVE, 2: QuoteKind.FROZEN, 3: QuoteKind.DELAYED, 4: QuoteKind.DELAYED}
LIVE_OR_DELAYED: Final = 3
DAYS_PER_YEAR: Final = 240
MAX_YEARS: Final = 30
RATE_DECIMALS: Final = 8
_TWO: Final = Exact(2)


async def quote(link: Link, contract: Contract, key: str, at: Instant, kind: QuoteKind | None = None) -> Quote | None:
    """One snapshot; None where the broker has no data for it. `at` is the broker's time, `kind` wins over what the broker says.

    Raises `BrokerLost`, `BrokerRefused`.
    """
    try:
        (ticker,) = await link.ask(lambda: link.ib.reqTickersAsync(contract), f"quote of {key}")
    except BrokerRefused as error:
        if error.code.isdigit() and meaning(int(error.code)) is Meaning.NO_DATA:
            return None
        raise
    bid, ask, last, close = (positive(_number(value)) for value in (ticker.bid, ticker.ask, ticker.last, ticker.close))
    symbol, currency = split_key(key)
    return Quote(symbol, currency, kind or _kind(ticker), at, bid, ask, last, close)


def _number(value: float) -> float | None:
    """A tick's price; nan is the library's word for none."""
    return None if math.isnan(value) else value


def _kind(ticker: Ticker) -> QuoteKind:
    """Live, frozen or delayed, as the broker said it for this request."""
    return KINDS.get(ticker.marketDataType, QuoteKind.DELAYED)


def middle(pair: Quote) -> Exact | None:
    """A rate from a pair's quote: between bid and ask, where both are known."""
    if pair.bid is None or pair.ask is None or pair.ask < pair.bid:
        return None
    return rounded((pair.bid + pair.ask) / _TWO, RATE_DECIMALS)


async def bars(link: Link, contract: Contract, count: int, running: str | None, duration: str | None = None) -> tuple[Bar, ...]:
    """The last `count` daily bars of complete sessions, oldest first; that of the session `running` is never among them."""
    span = duration or f"{min(count // DAYS_PER_YEAR + 1, MAX_YEARS)} Y"
    try:
        found: Sequence[BarData] = await link.ask(
            lambda: link.ib.reqHistoricalDataAsync(contract, "", span, "1 day", "TRADES", useRTH=True, timeout=0),
            f"bars of {contract.symbol}",
        )
    except BrokerRefused as error:
        if error.code.isdigit() and meaning(int(error.code)) is Meaning.NO_DATA and "pacing" not in error.message.lower():
            return ()
        raise
    read = [_bar(bar) for bar in found]
    complete = [bar for bar in read if running is None or bar.date < running]
    return tuple(complete[-count:]) if count else ()


def _bar(bar: BarData) -> Bar:
    """One bar; a volume below 0 is unknown."""
    opened, high, low, close = (positive(value) for value in (bar.open, bar.high, bar.low, bar.close))
    volume = amount(bar.volume)
    return Bar(bar.date.isoformat()[:10], opened, high, low, close, volume if volume is not None and volume >= 0 else None)
