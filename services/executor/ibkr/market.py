"""Quotes, rates and daily bars. A ticker is read only after its request has ended; what is absent is None, never -1 or 0."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from ib_async import BarData, Contract, Ticker
from ib_async.wrapper import RequestError

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
MAX_AT_ONCE: Final = 20
"""Snapshots under way at a time; the broker allows 100 lines of market data."""
RATE_DECIMALS: Final = 8
_TWO: Final = Exact(2)


async def quote(link: Link, contract: Contract, key: str, at: Instant, kind: QuoteKind | None = None) -> Quote | None:
    """One snapshot; None where the broker has no data for it. `at` is the broker's time, `kind` wins over what the broker says.

    Raises `BrokerLost`, `BrokerRefused`.
    """
    return (await quotes(link, {key: contract}, at, kind)).get(key)


async def quotes(link: Link, wanted: Mapping[str, Contract], at: Instant, kind: QuoteKind | None = None) -> dict[str, Quote]:
    """Snapshots by key, `MAX_AT_ONCE` at a time; one for which there are no data is left out. Raises as `quote` does."""
    found: dict[str, Quote] = {}
    keys = list(wanted)
    for start in range(0, len(keys), MAX_AT_ONCE):
        part = keys[start : start + MAX_AT_ONCE]
        tickers = await link.ask(partial(_snapshots, link, [wanted[key] for key in part]), "quotes")
        found.update(
            {key: _quote(key, ticker, at, kind) for key, ticker in zip(part, tickers, strict=True) if ticker is not None}
        )
    return found


async def _snapshots(link: Link, contracts: Sequence[Contract]) -> list[Ticker | None]:
    """Several tickers at the same time, each after its own request has ended."""
    return await asyncio.gather(*(_snapshot(link, contract) for contract in contracts))


async def _snapshot(link: Link, contract: Contract) -> Ticker | None:
    """One ticker after its request has ended; None where there are no data. Raises `RequestError` for any other error."""
    try:
        (ticker,) = await link.ib.reqTickersAsync(contract)
    except RequestError as error:
        if meaning(error.code) is Meaning.NO_DATA:
            return None
        raise
    return ticker


def _quote(key: str, ticker: Ticker, at: Instant, kind: QuoteKind | None) -> Quote:
    """What a ticker says; a price of 0, of -1 or nan is none."""
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
