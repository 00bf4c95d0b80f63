"""The instruments of this gateway: the price file's shares, a foreign listing of each (so that a vague request is ambiguous),
and the currency pairs of the rate table. Ids are derived from the names, so that they are the same in every run.
"""

import zlib
from datetime import date, timedelta
from typing import Final

import msgspec

from services.simulator.orders import TICK
from services.simulator.state import Exchange
from services.simulator.tws.asking import Contract
from services.simulator.tws.fields import Message
from services.simulator.tws.order_messages import WireContract
from shared.protocol.calendar import Calendar
from shared.protocol.money import Exact

SMART: Final = "SMART"
PRIMARY: Final = "NASDAQ"
FOREIGN_EXCHANGE, FOREIGN_CURRENCY = "MEXI", "MXN"
FX_EXCHANGE: Final = "IDEALPRO"
FX_TICK: Final = Exact("0.00005")
STOCK_RULE, FX_RULE = 26, 239
RULES: Final = {STOCK_RULE: ((Exact(0), TICK),), FX_RULE: ((Exact(0), FX_TICK),)}
TIME_ZONE: Final = "US/Eastern"
HOURS_DAYS: Final = 14
MAX_MATCHES: Final = 50
_STOCK_ORDERS: Final = "ACTIVETIM,AD,ADJUST,LMT,MKT,STP"
_KNOWN_IDS: Final = {"AAPL": 265598}
REFERENCE: Final = WireContract(756733, "SPY", "STK", SMART, "USD", "SPY", "SPY")
"""Found by its id alone, and only for its hours: it has no prices here."""
_FIRST_ID, _IDS = 1_000_000, 800_000_000


class Instrument(msgspec.Struct, frozen=True):
    """One listing. `traded`: it has prices here and orders are taken."""

    wire: WireContract
    primary: str
    exchanges: tuple[str, ...]
    rule: int
    tick: Exact
    long_name: str
    traded: bool

    @property
    def symbol(self) -> str:
        """The ticker, of a pair the currency that is bought."""
        return self.wire.symbol

    @property
    def currency(self) -> str:
        """What it is paid in."""
        return self.wire.currency

    @property
    def is_pair(self) -> bool:
        """Whether this is a currency pair."""
        return self.wire.sec_type == "CASH"


class Catalogue:
    """All instruments, found by id or by what a client states."""

    def __init__(self, exchange: Exchange) -> None:
        """The instruments of a price file and an account; raises `ValueError` if two names give one id."""
        terms, symbols = exchange.terms, exchange.file.symbols
        shares = [listing for symbol in symbols for listing in (_share(symbol, exchange.currency_of(symbol)), _foreign(symbol))]
        others = [currency for currency in terms.rates() if currency != terms.base_currency]
        self.all = (*shares, *(_pair(currency, terms.base_currency) for currency in others))
        self._by_id = {found.wire.con_id: found for found in self.all}
        self._traded = {(found.symbol, found.currency): found for found in self.all if found.traded and not found.is_pair}
        if len(self._by_id) != len(self.all):
            raise ValueError("two instruments have one contract id: rename one of them")

    def find(self, asked: Contract) -> list[Instrument]:
        """All that fit what was stated, at most `MAX_MATCHES`."""
        if asked.con_id == REFERENCE.con_id:
            return [Instrument(REFERENCE, "ARCA", (SMART,), STOCK_RULE, TICK, "SPDR S&P 500 ETF TRUST", traded=False)]
        if asked.con_id:
            found = self._by_id.get(asked.con_id)
            return [found] if found is not None and asked.exchange in {"", *found.exchanges} else []
        return [found for found in self.all if _fits(found, asked)][:MAX_MATCHES]

    def share(self, symbol: str, currency: str) -> Instrument | None:
        """The listing of the price file."""
        return self._traded.get((symbol, currency))


def _fits(found: Instrument, asked: Contract) -> bool:
    """Whether an instrument is one of those meant."""
    pairs = (
        (asked.symbol, found.symbol),
        (asked.sec_type, found.wire.sec_type),
        (asked.currency, found.currency),
        (asked.local_symbol, found.wire.local_symbol),
        (asked.trading_class, found.wire.trading_class),
        (asked.primary_exchange, found.primary),
    )
    named = bool(asked.symbol or asked.local_symbol) and bool(asked.sec_type)
    return named and asked.exchange in {"", *found.exchanges} and all(not said or said == own for said, own in pairs)


def details(req: int, found: Instrument, calendar: Calendar, day: date) -> Message:
    """Everything about an instrument; hours of `HOURS_DAYS` days from `day` on, in the exchange's own zone."""
    wire = found.wire
    trading, liquid = hours(calendar, day, 4, 20), hours(calendar, day)
    rules = ",".join(str(found.rule) for _ in found.exchanges)
    head = (10, req, wire.symbol, wire.sec_type, "", 0, "", wire.exchange, wire.currency, wire.local_symbol, wire.trading_class)
    body = (wire.trading_class, wire.con_id, found.tick, "", _STOCK_ORDERS, ",".join(found.exchanges), 1, 0, found.long_name)
    tail = (found.primary, "", "", "", "", TIME_ZONE, trading, liquid, "", 0, 0, 1, "", "", rules, "")
    return (*head, *body, *tail, "" if found.is_pair else "COMMON", "0.0001", "0.0001", 100)


def hours(calendar: Calendar, day: date, first: int | None = None, last: int | None = None) -> str:
    """`yyyymmdd:HHMM-yyyymmdd:HHMM` or `yyyymmdd:CLOSED` per day; `first` and `last` widen the day to these full hours."""
    return ";".join(_day_hours(calendar, day + timedelta(days=ahead), first, last) for ahead in range(HOURS_DAYS))


def _day_hours(calendar: Calendar, day: date, first: int | None, last: int | None) -> str:
    """One day's text; days that the table does not cover are closed, because nothing is known of them."""
    name = f"{day:%Y%m%d}"
    if not calendar.covers(day) or not calendar.is_session(day):
        return f"{name}:CLOSED"
    opened, closed = (moment.astimezone(calendar.zone) for moment in calendar.hours(day))
    begin = f"{opened:%H%M}" if first is None else f"{first:02d}00"
    end = f"{closed:%H%M}" if last is None else f"{last:02d}00"
    return f"{name}:{begin}-{name}:{end}"


def _id(name: str) -> int:
    """A contract id that follows from the name."""
    return _FIRST_ID + zlib.crc32(name.encode()) % _IDS


def _share(symbol: str, currency: str) -> Instrument:
    """The listing that is traded here."""
    con_id = _KNOWN_IDS.get(symbol, _id(f"{symbol}:{currency}")) if currency == "USD" else _id(f"{symbol}:{currency}")
    wire = WireContract(con_id, symbol, "STK", SMART, currency, symbol, "NMS")
    return Instrument(wire, PRIMARY, (SMART, PRIMARY), STOCK_RULE, TICK, f"{symbol} INC", traded=True)


def _foreign(symbol: str) -> Instrument:
    """A listing elsewhere that has no prices here."""
    wire = WireContract(_id(f"{symbol}:{FOREIGN_CURRENCY}"), symbol, "STK", FOREIGN_EXCHANGE, FOREIGN_CURRENCY, symbol, symbol)
    return Instrument(wire, FOREIGN_EXCHANGE, (FOREIGN_EXCHANGE,), STOCK_RULE, TICK, f"{symbol} INC", traded=False)


def _pair(currency: str, base: str) -> Instrument:
    """A currency in units of the account's own."""
    name = f"{currency}.{base}"
    wire = WireContract(_id(name), currency, "CASH", FX_EXCHANGE, base, name, name)
    return Instrument(wire, "", (FX_EXCHANGE,), FX_RULE, FX_TICK, f"{currency}.{base}", traded=True)
