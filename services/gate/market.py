"""One observation of the market as rules read it: reference prices, rates, quote ages and sessions."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final, NamedTuple

from services.gate.numbers import NOTHING
from shared.protocol.events import MarketObserved
from shared.protocol.instants import parse
from shared.protocol.market import Quote
from shared.protocol.money import STATE_DECIMALS, Exact, rounded
from shared.protocol.policy import Policy
from shared.protocol.reference import reference_price

MAX_RATE: Final = Decimal(10) ** 6
"""Base units per unit of a currency; a rate at or above this is a fault of its source."""

_UNIT_RATE: Final = Exact(1)


class SessionView(NamedTuple):
    """Whether an exchange is open, and until when, if that is known."""

    open: bool
    closes_at: datetime | None


class Market:
    """What one observation shows at `at`, the time of judging. What is absent is unknown, never zero."""

    __slots__ = ("_ages", "at", "kinds", "now", "quotes", "rates", "sessions")

    def __init__(
        self, at: str, quotes: Iterable[Quote], fx: Mapping[str, Exact], sessions: Mapping[str, SessionView], policy: Policy
    ) -> None:
        """Index `quotes` by instrument key; `fx` is base units per unit of a currency, `sessions` by exchange."""
        self.at, self.now = at, parse(at)
        self.quotes = {quote.key: quote for quote in quotes}
        self.rates = {currency: rate for currency, text in fx.items() if (rate := usable_rate(text)) is not None}
        self.rates[policy.base_currency] = _UNIT_RATE
        self.sessions = {exchange.upper(): session for exchange, session in sessions.items()}
        self.kinds = policy.limits.quote_kinds
        self._ages: dict[str, timedelta] = {}

    def price(self, key: str) -> Decimal | None:
        """The reference price of an instrument in its own currency, None if there is none."""
        quote = self.quotes.get(key)
        return None if quote is None else reference_price(quote, self.kinds)

    def age(self, quote: Quote) -> timedelta:
        """How old a quote is at the time of judging; negative if it is from the future."""
        found = self._ages.get(quote.at)
        if found is None:
            found = self._ages[quote.at] = self.now - parse(quote.at)
        return found

    def left(self, exchange: str) -> timedelta | None:
        """The time until an exchange closes; None if it is closed or unknown."""
        session = self.sessions.get(exchange.upper())
        if session is None or not session.open or session.closes_at is None:
            return None
        return session.closes_at - self.now


def observed_market(at: str, seen: MarketObserved, policy: Policy) -> Market:
    """The view of a `MarketObserved` whose event time is `at`."""
    sessions = {name: SessionView(row.open, parse(row.closes_at)) for name, row in seen.sessions.items()}
    return Market(at, seen.quotes, seen.fx, sessions, policy)


def usable_rate(rate: Decimal) -> Exact | None:
    """A rate as state holds it (12 decimals), None if it is not above 0 or beyond all bounds."""
    if not NOTHING < rate < MAX_RATE:
        return None
    found = rounded(rate, STATE_DECIMALS)
    return found or None
