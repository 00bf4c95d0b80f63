"""Instruments, quotes, exchange sessions and orders as they stand in events."""

from enum import StrEnum
from typing import Final

import msgspec

from shared.protocol.instants import Day, Instant
from shared.protocol.money import Exact

MAX_SYMBOL_CHARS: Final = 32


class Side(StrEnum):
    """Which way an order goes."""

    BUY = "BUY"
    SELL = "SELL"


class QuoteKind(StrEnum):
    """How a quote came to be."""

    LIVE = "live"
    DELAYED = "delayed"
    FROZEN = "frozen"
    CLOSE = "close"
    SIM = "sim"


def instrument_key(symbol: str, currency: str) -> str:
    """The name of an instrument everywhere: `AAPL:USD`; one ticker in two currencies is two instruments."""
    return f"{symbol}:{currency}"


def split_key(key: str) -> tuple[str, str]:
    """Symbol and currency of an instrument key."""
    symbol, _, currency = key.rpartition(":")
    return symbol, currency


class Instrument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row of the universe."""

    symbol: str
    exchange: str
    currency: str
    name: str = ""
    source: str = ""

    @property
    def key(self) -> str:
        """`SYMBOL:CURRENCY`."""
        return instrument_key(self.symbol, self.currency)


class Quote(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of one instrument's price; an absent field is unknown, never zero. `at` is the quote's own time."""

    symbol: str
    currency: str
    kind: QuoteKind
    at: Instant
    bid: Exact | None = None
    ask: Exact | None = None
    last: Exact | None = None
    close: Exact | None = None

    @property
    def key(self) -> str:
        """`SYMBOL:CURRENCY`."""
        return instrument_key(self.symbol, self.currency)


class ExchangeSession(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The state of one exchange at the time of an observation; `day` is its local session date."""

    open: bool
    day: Day
    opens_at: Instant
    closes_at: Instant


class ProposedOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An order as a source wrote it: text, not yet an order; only the gate turns it into one.

    `quantity` and `limit` are decimal text, `NaN`, `Infinity` or None; `confidence` is decimal text in [0, 1] or None.
    """

    symbol: str
    currency: str
    side: str
    quantity: str | None
    limit: str | None
    reason: str = ""
    exchange: str | None = None
    confidence: str | None = None


class Order(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A limit order for a number of shares, `limit` in the instrument's currency."""

    symbol: str
    currency: str
    side: Side
    quantity: Exact
    limit: Exact

    @property
    def key(self) -> str:
        """`SYMBOL:CURRENCY`."""
        return instrument_key(self.symbol, self.currency)
