"""From the library's trades, fills and values to the broker port's own: what is not certain is refused, not guessed."""

from collections.abc import Iterable
from typing import Final

from ib_async import Fill, Position, Trade
from ib_async.objects import AccountValue

from services.executor.broker import BrokerOrder, BrokerUnreadable, Execution, OrderStatus
from services.executor.ibkr.booking import split_id
from services.executor.ibkr.numbers import amount, positive
from shared.protocol.market import Order, Side, instrument_key
from shared.protocol.money import ZERO, Exact, Money

LIVE: Final = frozenset({"PendingSubmit", "ApiPending", "PreSubmitted", "Submitted", "PendingCancel", "PreCancelled"})
ENDS: Final = {"Filled": OrderStatus.FILLED, "Cancelled": OrderStatus.CANCELLED, "ApiCancelled": OrderStatus.CANCELLED}
EXPIRED: Final = "expired"
BASE: Final = "BASE"


def open_order(trade: Trade, filled: Exact) -> BrokerOrder:
    """An order from a list of open ones: it is open, whatever the library made of its status."""
    return BrokerOrder(str(trade.order.permId), trade.order.orderRef, _order(trade), OrderStatus.WORKING, filled, "")


def ended_order(trade: Trade, filled: Exact, words: str) -> BrokerOrder:
    """An order from the list of completed ones. Executions say how much was filled, as the list's own number can lag."""
    status = ENDS.get(trade.orderStatus.status, OrderStatus.REJECTED)
    if status is OrderStatus.CANCELLED and EXPIRED in words.lower():
        status = OrderStatus.EXPIRED
    said = "" if status is OrderStatus.FILLED else words
    return BrokerOrder(str(trade.order.permId), trade.order.orderRef, _order(trade), status, filled, said)


def _order(trade: Trade) -> Order:
    """What was ordered; raises `BrokerUnreadable` for numbers that mean nothing."""
    quantity, limit = positive(trade.order.totalQuantity), positive(trade.order.lmtPrice)
    if quantity is None or limit is None:
        raise BrokerUnreadable(
            f"order {trade.order.permId} has size {trade.order.totalQuantity} and limit {trade.order.lmtPrice}"
        )
    side = Side.BUY if trade.order.action == "BUY" else Side.SELL
    return Order(trade.contract.symbol, trade.contract.currency, side, quantity, limit)


def newest(fills: Iterable[Fill]) -> list[Fill]:
    """The newest revision of every execution, in the order in which the first ones came."""
    kept: dict[str, Fill] = {}
    for fill in fills:
        base, revision = split_id(fill.execution.execId)
        if base not in kept or revision > split_id(kept[base].execution.execId)[1]:
            kept[base] = fill
    return list(kept.values())


def has_commission(fill: Fill) -> bool:
    """Whether the commission has come: a report without an id is the library's empty one, an unset amount means nothing."""
    return fill.commissionReport.execId != "" and amount(fill.commissionReport.commission) is not None


def execution(fill: Fill, number: int, base_currency: str) -> Execution:
    """One execution with its commission; raises `BrokerUnreadable` for numbers that mean nothing."""
    done, contract = fill.execution, fill.contract
    quantity, price, fee = positive(done.shares), positive(done.price), amount(fill.commissionReport.commission)
    if quantity is None or price is None or fee is None:
        raise BrokerUnreadable(f"execution {done.execId}: {done.shares} at {done.price}, fee {fill.commissionReport.commission}")
    return Execution(
        id=done.execId,
        number=number,
        permanent_id=str(done.permId),
        reference=done.orderRef,
        symbol=contract.symbol,
        currency=contract.currency,
        side=Side.BUY if done.side == "BOT" else Side.SELL,
        quantity=quantity,
        price=price,
        fee=Money(fee, fill.commissionReport.currency or contract.currency),
        fx=Exact(1) if contract.currency == base_currency else None,
    )


def positions(found: Iterable[Position]) -> dict[str, Exact]:
    """Shares by instrument key, without zeros; raises `BrokerUnreadable` for a size that means nothing."""
    held: dict[str, Exact] = {}
    for position in found:
        shares = amount(position.position)
        if shares is None:
            raise BrokerUnreadable(f"the position in {position.contract.symbol} is {position.position}")
        if shares:
            held[instrument_key(position.contract.symbol, position.contract.currency)] = shares
    return held


def by_currency(values: Iterable[AccountValue], tag: str) -> dict[str, Exact]:
    """A tag's amounts by currency, the sum over all of them left out."""
    found = {value.currency: amount(value.value) for value in values if value.tag == tag and value.currency not in {"", BASE}}
    return {currency: number for currency, number in sorted(found.items()) if number is not None}


def base_currency(values: Iterable[AccountValue]) -> str | None:
    """The currency whose rate is exactly 1; None where that is not one."""
    ones = [currency for currency, rate in by_currency(values, "ExchangeRate").items() if rate == 1]
    return ones[0] if len(ones) == 1 else None


def is_ready(values: Iterable[AccountValue]) -> bool:
    """Whether the account's numbers are current: it says so, and is worth something in a known currency."""
    kept = list(values)
    said = {value.value.lower() for value in kept if value.tag == "AccountReady"}
    worth = by_currency(kept, "NetLiquidation")
    return said == {"true"} and any(value > ZERO for value in worth.values())
