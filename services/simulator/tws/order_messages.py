"""Server to client: orders and executions, field by field at server version 178.

`LAYOUT_*` hold what a plain limit order leaves unchanged; what differs from order to order stands at named indexes.
"""

from decimal import Decimal
from typing import Final

import msgspec

from services.simulator.tws.fields import UNSET_DOUBLE, UNSET_INT, Message, Value
from shared.protocol.money import Exact

OPEN_ORDER_FIELDS: Final = 135
COMPLETED_ORDER_FIELDS: Final = 100
EXECUTION_FIELDS: Final = 32

_U, _I = UNSET_DOUBLE, UNSET_INT


class WireContract(msgspec.Struct, frozen=True):
    """The eleven fields in which orders and executions carry their contract."""

    con_id: int
    symbol: str
    sec_type: str
    exchange: str
    currency: str
    local_symbol: str
    trading_class: str

    def eleven(self, exchange: str | None = None, right: str = "?") -> Message:
        """The fields, on another exchange if one is named."""
        where = self.exchange if exchange is None else exchange
        return (
            self.con_id, self.symbol, self.sec_type, "", "0", right, "", where, self.currency, self.local_symbol,
            self.trading_class,
        )  # fmt: skip


class WireOrder(msgspec.Struct, frozen=True):
    """What of an order goes over the wire; `status` in the broker's words."""

    order_id: int
    client: int
    perm_id: int
    contract: WireContract
    action: str
    quantity: Exact
    limit: Exact
    account: str
    reference: str
    status: str
    filled: Exact
    remaining: Exact
    average: Exact
    last_price: Exact
    why_held: str = ""
    outside_hours: bool = False
    end_time: str = ""
    end_text: str = ""


class WireExecution(msgspec.Struct, frozen=True):
    """One execution; `time` with its zone, `cumulative` and `average` of the order up to and with it."""

    execution: str
    time: str
    exchange: str
    side: str
    shares: Exact
    price: Exact
    cumulative: Exact
    average: Exact


def order_status(order: WireOrder) -> Message:
    """Where an order stands."""
    return (
        3, order.order_id, order.status, order.filled, order.remaining, order.average, order.perm_id, 0, order.last_price,
        order.client, order.why_held, 0,
    )  # fmt: skip


def open_order(order: WireOrder, commission: Decimal | None = None, commission_currency: str = "") -> Message:
    """An order that works or has just ended: 135 fields."""
    fields: list[Value] = [None] * OPEN_ORDER_FIELDS
    fields[0:2] = [5, order.order_id]
    fields[2:13] = order.contract.eleven()
    fields[13:19] = [order.action, order.quantity, "LMT", order.limit, "0.0", "DAY"]
    fields[20:27] = [order.account, None, 0, order.reference, order.client, order.perm_id, order.outside_hours]
    fields[27:29] = [0, 0]
    fields[30] = f"{order.perm_id}.0/{order.account}/100"
    for index, value in _OPEN_ORDER.items():
        fields[index] = value
    fields[93] = order.status
    if commission is not None:
        fields[103:107] = [commission, _U, _U, commission_currency]
    return tuple(fields)


def completed_order(order: WireOrder) -> Message:
    """An order of today that has ended, without order id and client: 100 fields."""
    fields: list[Value] = [None] * COMPLETED_ORDER_FIELDS
    fields[0] = 101
    fields[1:12] = order.contract.eleven()
    fields[12:18] = [order.action, order.quantity, "LMT", order.limit, "0.0", "DAY"]
    fields[19:26] = [order.account, None, 0, order.reference, order.perm_id, order.outside_hours, 0]
    for index, value in _COMPLETED_ORDER.items():
        fields[index] = value
    fields[76] = order.status
    fields[86] = order.filled
    fields[93:95] = [order.end_time, order.end_text]
    return tuple(fields)


def execution(order: WireOrder, done: WireExecution, req: int = -1) -> Message:
    """An execution, pushed (-1) or in answer to a request: 32 fields."""
    return (
        11, req, order.order_id, *order.contract.eleven(done.exchange, right=""), done.execution, done.time, order.account,
        done.exchange, done.side, done.shares, done.price, order.perm_id, order.client, 0, done.cumulative, done.average,
        order.reference, None, None, None, 2, 0,
    )  # fmt: skip


def commission_report(execution_id: str, commission: Value, currency: str) -> Message:
    """What an execution cost."""
    return (59, 1, execution_id, commission, currency, _U, _U, None)


_OPEN_ORDER: Final[dict[int, Value]] = {
    **dict.fromkeys((39, 42, 49, 50, 51, 54, 55, 57, 58, 60, 63, 68, 69, 71, 72, 78, 79, 80, 85, 88, 89, 91, 92), 0),
    **dict.fromkeys((108, 109, 110, 118, 123, 124, 125, 126, 129), 0),
    **dict.fromkeys((*range(94, 103), *range(112, 118)), _U),
    **dict.fromkeys((52, 127, 128), _I),
    28: 0, 41: -1, 53: 3, 61: "None", 67: "?", 87: "IB", 111: "None",
}  # fmt: skip
_COMPLETED_ORDER: Final[dict[int, Value]] = {
    **dict.fromkeys((26, 36, 45, 46, 49, 51, 54, 55, 56, 58, 59, 63, 64, 65, 72, 73, 75, 77, 78, 79, 83, 84, 87, 88), 0),
    **dict.fromkeys((90, 91, 92), 0),
    **dict.fromkeys((80, 81), _U),
    38: -1, 47: _I, 48: 3, 52: "None", 71: "IB", 89: "Not an insider or substantial shareholder",
}  # fmt: skip
