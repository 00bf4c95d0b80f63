"""Client to server: every message that is understood, as a frozen value. One entry of `MESSAGES` per message, exact field counts.

The counts are those of server version 178 for what the executor uses: a client library that sends another number has changed,
and says so here (`Unreadable`) instead of being misread.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from services.simulator.tws.asking import (
    AccountSummary,
    AccountUpdates,
    AccountUpdatesMulti,
    CancelOrder,
    Contract,
    ContractDetails,
    Executions,
    History,
    MarketData,
    Numbered,
    PlaceOrder,
    Plain,
    Request,
    StartApi,
)
from services.simulator.tws.fields import FieldError, Reader


class Unreadable(Exception):
    """A message that is refused: `about` is its order or request id (-1: none), `code` the error to answer."""

    def __init__(self, code: int, about: int, message: str) -> None:
        """Keep the parts of the answer."""
        super().__init__(message)
        self.code, self.about = code, about


def _contract(fields: Reader) -> Contract:
    """The 12 fields of a contract."""
    con_id, symbol, sec_type = fields.whole("conId", 0), fields.text("symbol"), fields.text("secType")
    fields.skip(4)
    exchange, primary, currency = fields.text("exchange"), fields.text("primaryExchange"), fields.text("currency")
    return Contract(
        con_id, symbol, sec_type, exchange, primary, currency, fields.text("localSymbol"), fields.text("tradingClass")
    )


def _start_api(fields: Reader) -> StartApi:
    fields.skip(1)
    return StartApi(fields.whole("clientId"))


def _market_data(fields: Reader) -> MarketData:
    fields.skip(1)
    req, contract = fields.whole("reqId"), _contract(fields)
    fields.skip(2)
    return MarketData(req, contract, fields.flag("snapshot"))


def _place_order(fields: Reader) -> PlaceOrder:
    order_id, contract = fields.whole("orderId"), _contract(fields)
    fields.skip(2)
    action, quantity, order_type, limit = (
        fields.text("action"),
        fields.number("quantity"),
        fields.text("type"),
        fields.number("lmtPrice"),
    )
    fields.skip(1)
    tif = fields.text("tif")
    fields.skip(1)
    account = fields.text("account")
    fields.skip(2)
    reference, transmit = fields.text("orderRef"), fields.flag("transmit")
    fields.skip(5)
    outside = fields.flag("outsideRth")
    fields.skip(50)
    what_if = fields.flag("whatIf")
    return PlaceOrder(
        order_id, contract, action, quantity, order_type, limit, tif, account, reference, outside, transmit, what_if
    )


def _cancel_order(fields: Reader) -> CancelOrder:
    fields.skip(1)
    return CancelOrder(fields.whole("orderId"))


def _contract_details(fields: Reader) -> ContractDetails:
    fields.skip(1)
    return ContractDetails(fields.whole("reqId"), _contract(fields))


def _history(fields: Reader) -> History:
    req, contract = fields.whole("reqId"), _contract(fields)
    fields.skip(1)
    end, bar_size, duration = fields.text("endDateTime"), fields.text("barSize"), fields.text("duration")
    fields.skip(1)
    return History(req, contract, end, bar_size, duration, fields.text("whatToShow"), fields.whole("formatDate", 1))


def _executions(fields: Reader) -> Executions:
    fields.skip(1)
    req, client = fields.whole("reqId"), fields.whole("clientId", 0)
    fields.skip(2)
    symbol = fields.text("symbol")
    fields.skip(2)
    return Executions(req, client, symbol, fields.text("side"))


def _account_summary(fields: Reader) -> AccountSummary:
    fields.skip(1)
    req = fields.whole("reqId")
    fields.skip(1)
    return AccountSummary(req, tuple(tag for tag in fields.text("tags").split(",") if tag))


def _account_updates(fields: Reader) -> AccountUpdates:
    fields.skip(1)
    return AccountUpdates(fields.flag("subscribe"), fields.text("account"))


def _account_updates_multi(fields: Reader) -> AccountUpdatesMulti:
    fields.skip(1)
    return AccountUpdatesMulti(fields.whole("reqId"), fields.text("account"))


class Kind(NamedTuple):
    """How a message is read: its name, its exact number of fields, its parser, and where the id it is about stands."""

    name: str
    size: int
    read: Callable[[Reader], Request]
    about: int | None = None


def _plain(name: str, count: int) -> Kind:
    """A message without content of interest."""
    return Kind(name, count, lambda _: Plain(name))


def _numbered(name: str, count: int, skip: int = 1) -> Kind:
    """A message with one number behind `skip` fields."""

    def read(fields: Reader) -> Request:
        fields.skip(skip)
        return Numbered(name, fields.whole(name))

    return Kind(name, count, read, skip + 1)


MESSAGES: Final[dict[int, Kind]] = {
    1: Kind("reqMktData", 20, _market_data, 2),
    2: _numbered("cancelMktData", 3),
    3: Kind("placeOrder", 114, _place_order, 1),
    4: Kind("cancelOrder", 4, _cancel_order, 2),
    5: _plain("reqOpenOrders", 2),
    6: Kind("reqAccountUpdates", 4, _account_updates),
    7: Kind("reqExecutions", 10, _executions, 2),
    8: _plain("reqIds", 3),
    9: Kind("reqContractDetails", 19, _contract_details, 2),
    15: _plain("reqAutoOpenOrders", 3),
    16: _plain("reqAllOpenOrders", 2),
    17: _plain("reqManagedAccts", 2),
    20: Kind("reqHistoricalData", 23, _history, 1),
    25: _numbered("cancelHistoricalData", 3),
    49: _plain("reqCurrentTime", 2),
    58: _plain("reqGlobalCancel", 2),
    59: _numbered("reqMarketDataType", 3),
    61: _plain("reqPositions", 2),
    62: Kind("reqAccountSummary", 5, _account_summary, 2),
    63: _numbered("cancelAccountSummary", 3),
    64: _plain("cancelPositions", 2),
    71: Kind("startApi", 4, _start_api),
    76: Kind("reqAccountUpdatesMulti", 6, _account_updates_multi, 2),
    77: _numbered("cancelAccountUpdatesMulti", 3),
    91: _numbered("reqMarketRule", 2, skip=0),
    99: _plain("reqCompletedOrders", 2),
}
"""By message id, all that section 2.10 of the requirement names."""

UNKNOWN_MESSAGE: Final = 505
CANNOT_READ: Final = 320


def read_message(fields: tuple[str, ...]) -> Request:
    """A message as a value; raises `Unreadable` with the error to answer."""
    first = fields[0] if fields else ""
    kind = MESSAGES.get(int(first)) if first.isascii() and first.isdigit() and len(first) <= 4 else None
    if kind is None:
        raise Unreadable(UNKNOWN_MESSAGE, -1, f"Fatal Error: Unknown message id: {first[:20]}")
    about = _about(kind, fields)
    if len(fields) != kind.size:
        said = f"Error reading request: {kind.name} has {len(fields)} fields, {kind.size} are expected"
        raise Unreadable(CANNOT_READ, about, said)
    try:
        return kind.read(Reader(fields[1:]))
    except FieldError as error:
        raise Unreadable(CANNOT_READ, about, f"Error reading request: {kind.name}: {error}") from error


def _about(kind: Kind, fields: tuple[str, ...]) -> int:
    """The order or request id of a message, -1 where it has none that can be read."""
    if kind.about is None or kind.about >= len(fields):
        return -1
    found = fields[kind.about]
    return int(found) if found.isascii() and found.isdigit() and len(found) <= 10 else -1
