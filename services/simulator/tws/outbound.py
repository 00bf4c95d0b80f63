"""Server to client: the short messages, one function each, at server version 178. Orders and contracts stand apart."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from services.simulator.tws.fields import Message, Value

SYSTEM: Final = -1
"""The id of an error that is about no request and no order."""


def version(server_version: int, time: str) -> Message:
    """The server's part of the handshake."""
    return (server_version, time)


def managed_accounts(accounts: Sequence[str]) -> Message:
    """All accounts of this login."""
    return (15, 1, ",".join(accounts))


def next_valid_id(order_id: int) -> Message:
    """The first order id that this client may use."""
    return (9, 1, order_id)


def error(about: int, code: int, message: str, advanced: str = "") -> Message:
    """An error or a notice about an order, a request, or (`SYSTEM`) nothing in particular."""
    return (4, 2, about, code, message, advanced)


def position(account: str, contract: Sequence[Value], symbol_quantity: Decimal, average_cost: Decimal) -> Message:
    """One holding; `contract` as `contracts.eleven` gives it."""
    return (61, 3, account, *contract, symbol_quantity, average_cost)


def position_end() -> Message:
    """All positions were sent."""
    return (62, 1)


def open_order_end() -> Message:
    """All open orders were sent."""
    return (53, 1)


def completed_orders_end() -> Message:
    """All completed orders were sent."""
    return (102,)


def executions_end(req: int) -> Message:
    """All executions were sent."""
    return (55, 1, req)


def account_value(tag: str, value: Value, currency: str, account: str) -> Message:
    """One value of a subscribed account."""
    return (6, 2, tag, value, currency, account)


def portfolio(
    contract: Sequence[Value], shares: Decimal, price: Value, value: Value, cost: Value, unrealized: Value, account: str
) -> Message:
    """One holding of a subscribed account, valued."""
    return (7, 8, *contract, shares, price, value, cost, unrealized, 0, account)


def account_time(hours_minutes: str) -> Message:
    """When the account's values were computed."""
    return (8, 1, hours_minutes)


def account_download_end(account: str) -> Message:
    """The first answer to an account subscription is complete."""
    return (54, 1, account)


def account_summary(req: int, account: str, tag: str, value: Value, currency: str) -> Message:
    """One value of the summary."""
    return (63, 1, req, account, tag, value, currency)


def account_summary_end(req: int) -> Message:
    """The summary is complete."""
    return (64, 1, req)


def account_multi(req: int, account: str, tag: str, value: Value, currency: str) -> Message:
    """One value of an account under a request id."""
    return (73, 1, req, account, "", tag, value, currency)


def account_multi_end(req: int) -> Message:
    """They are complete."""
    return (74, 1, req)


def current_time(epoch_s: int) -> Message:
    """The server's clock."""
    return (49, 1, epoch_s)


def market_rule(rule: int, steps: Sequence[tuple[Decimal, Decimal]]) -> Message:
    """Price steps: from each lower edge on, the increment."""
    return (93, rule, len(steps), *(value for step in steps for value in step))


def market_data_type(req: int, kind: int) -> Message:
    """What kind of data a request is given: 1 live, 2 frozen, 3 delayed, 4 delayed and frozen."""
    return (58, 1, req, kind)


def tick_parameters(req: int, tick: Decimal) -> Message:
    """The smallest price step of a request's contract."""
    return (81, req, tick, "9c0001", 3)


def tick_price(req: int, tick_type: int, price: Value, size: Value, attributes: int = 0) -> Message:
    """A price with its size."""
    return (1, 6, req, tick_type, price, size, attributes)


def tick_size(req: int, tick_type: int, size: Value) -> Message:
    """A size by itself."""
    return (2, 6, req, tick_type, size)


def tick_generic(req: int, tick_type: int, value: str) -> Message:
    """A number of another kind."""
    return (45, 6, req, tick_type, value)


def tick_string(req: int, tick_type: int, value: str) -> Message:
    """A text of another kind."""
    return (46, 6, req, tick_type, value)


def snapshot_end(req: int) -> Message:
    """A snapshot is complete."""
    return (57, 1, req)


def historical_data(req: int, start: str, end: str, bars: Sequence[Sequence[Value]]) -> Message:
    """Bars of eight fields: date, open, high, low, close, volume, average, count; no end message at this version."""
    return (17, req, start, end, len(bars), *(value for bar in bars for value in bar))


def contract_details_end(req: int) -> Message:
    """All contracts that fit were sent."""
    return (52, 1, req)
