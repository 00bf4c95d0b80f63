"""Daily bars over the wire."""

import re
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Final

from services.simulator.market import history, last_price
from services.simulator.prices import Fields
from services.simulator.tws import outbound as out
from services.simulator.tws.asking import History
from services.simulator.tws.contracts import TIME_ZONE, Instrument
from services.simulator.tws.fields import Message, Value
from services.simulator.tws.inbound import Unreadable
from shared.protocol.money import plain

if TYPE_CHECKING:
    from services.simulator.tws.gateway import Gateway

NO_DATA: Final = 162
MAX_BARS: Final = 10_000
_DURATION: Final = re.compile(r"([1-9][0-9]{0,3}) ([DWMY])", re.ASCII)


def answer(gateway: "Gateway", request: History, found: Instrument) -> Message:
    """Daily bars up to now, the running session's own as the last and provisional one; raises `Unreadable`."""
    _check(gateway, request, found)
    matched = _DURATION.fullmatch(request.duration)
    if matched is None:
        raise Unreadable(
            NO_DATA, request.req, f"Historical Market Data Service error message:invalid duration {request.duration[:20]}"
        )
    number, unit = int(matched[1]), matched[2]
    bars = _bars(gateway, found.symbol, number if unit == "D" else MAX_BARS)
    if unit != "D":
        first = _first_day(gateway.day, number, unit).isoformat()
        bars = [bar for bar in bars if bar[0] >= first]
    if not bars:
        raise Unreadable(NO_DATA, request.req, "Historical Market Data Service error message:HMDS query returned no data")
    rows = [_row(request, day, fields) for day, fields in bars]
    return out.historical_data(request.req, _at(bars[0][0]), _at(gateway.day.isoformat()), rows)


def _check(gateway: "Gateway", request: History, found: Instrument) -> None:
    """Refuse what is not kept here; raises `Unreadable`."""
    said = "Historical Market Data Service error message:"
    if not found.traded or found.is_pair or gateway.conditions.data == "none" or gateway.broker.state.now is None:
        raise Unreadable(
            NO_DATA, request.req, f"{said}No market data permissions for {found.wire.exchange} {found.wire.sec_type}"
        )
    if request.bar_size != "1 day" or request.end or request.what not in {"TRADES", "ADJUSTED_LAST", "MIDPOINT"}:
        raise Unreadable(NO_DATA, request.req, f"{said}only daily bars of trades up to now are kept by this gateway")


def _bars(gateway: "Gateway", symbol: str, count: int) -> list[tuple[str, Fields]]:
    """Complete bars, and of the running session what is known by now."""
    broker = gateway.broker
    now = broker.state.now
    if now is None:
        return []
    file = broker.exchange.file
    bars = history(file, symbol, count, now)
    if not now.closed and (last := last_price(file, symbol, now)) is not None:
        text = plain(last)
        bars.append((file.sessions[now.session].isoformat(), Fields(text, text, text, text, "0")))
    return bars[-count:]


def _row(request: History, day: str, fields: Fields) -> tuple[Value, ...]:
    """One bar; where only the close is known it stands for all four prices, as the wire has no absent price."""
    close = fields.close
    prices = (fields.open or close, fields.high or close, fields.low or close, close)
    return (_date(day, request.date_format), *prices, fields.volume or -1, close, -1)


def _date(day: str, date_format: int) -> str:
    """`yyyymmdd`, or with format 2 for daily bars the same: only bars within a day come as seconds."""
    return day.replace("-", "") if date_format in {1, 2} else day


def _first_day(today: date, number: int, unit: str) -> date:
    """The first calendar day of a span that ends today: months and years keep the day of the month."""
    if unit == "W":
        return today - timedelta(days=7 * number) + timedelta(days=1)
    months = today.year * 12 + today.month - 1 - number * (12 if unit == "Y" else 1)
    year, month = divmod(months, 12)
    last = (date(year + (month == 11), (month + 1) % 12 + 1, 1) - timedelta(days=1)).day
    return date(year, month + 1, min(today.day, last)) + timedelta(days=1)


def _at(day: str) -> str:
    """A day's beginning as the wire has it."""
    return f"{datetime.fromisoformat(day):%Y%m%d} 00:00:00 {TIME_ZONE}"
