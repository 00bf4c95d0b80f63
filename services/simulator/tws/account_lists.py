"""The account as clients see it: values, holdings, summaries; in answer and, to those who subscribed, on every change."""

from collections.abc import Iterator
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Final, NamedTuple

from services.simulator.account import free_cash, net_liquidation
from services.simulator.exact import EXACT
from services.simulator.scripted import Scene
from services.simulator.tws import outbound as out
from services.simulator.tws.fields import Message, Value
from shared.protocol.money import ZERO, Exact, divide

if TYPE_CHECKING:
    from services.simulator.tws.client import Client
    from services.simulator.tws.gateway import Gateway

BASE: Final = "BASE"
LEDGER: Final = "$LEDGER"
PER_CURRENCY: Final = ("CashBalance", "TotalCashBalance", "ExchangeRate", "StockMarketValue", "UnrealizedPnL", "RealizedPnL")


class AccountValue(NamedTuple):
    """One tag of the account; `currency` is empty where the tag is no amount."""

    tag: str
    value: Value
    currency: str


def values(gateway: "Gateway") -> list[AccountValue]:
    """All values, the sums in the base currency, then cash and rates per currency."""
    broker, ready = gateway.broker, gateway.conditions.ready
    base = broker.exchange.terms.base_currency
    net = (net_liquidation(broker.exchange, broker.state) or ZERO) if ready else ZERO
    with localcontext(EXACT):
        free = Exact(free_cash(broker.exchange, broker.state))
        cash = _base_cash(gateway)
        stock = Exact(net - cash) if ready else ZERO
    sums: dict[str, Decimal] = {
        "NetLiquidation": net, "TotalCashValue": cash, "SettledCash": cash, "BuyingPower": free, "AvailableFunds": free,
        "ExcessLiquidity": free, "GrossPositionValue": stock, "InitMarginReq": ZERO, "MaintMarginReq": ZERO,
        "FullInitMarginReq": ZERO,
    }  # fmt: skip
    found = [AccountValue("AccountType", "INDIVIDUAL", ""), AccountValue("AccountReady", "true" if ready else "false", "")]
    return [*found, *(AccountValue(tag, value, base) for tag, value in sums.items()), *_ledger(gateway, cash, stock)]


def _base_cash(gateway: "Gateway") -> Exact:
    """Cash of all currencies in the base currency."""
    rates = Scene(gateway.broker.exchange, gateway.broker.state).rates()
    return Exact(sum((amount * rates[currency] for currency, amount in gateway.broker.state.cash.items()), Decimal(0)))


def _ledger(gateway: "Gateway", cash: Exact, stock: Exact) -> Iterator[AccountValue]:
    """Cash, holdings and rate of every currency, and of all of them together."""
    terms, held = gateway.broker.exchange.terms, gateway.broker.state.cash
    rates = Scene(gateway.broker.exchange, gateway.broker.state).rates()
    rows: dict[str, tuple[Decimal, Decimal, Decimal]] = {BASE: (cash, stock, Decimal(1))}
    for currency in sorted({*held, terms.currency, terms.base_currency}):
        worth = divide(stock, rates[currency]) if currency == terms.currency else ZERO
        rows[currency] = (held.get(currency, ZERO), worth, rates[currency])
    for currency, row in rows.items():
        for tag, value in zip(PER_CURRENCY, (row[0], row[0], row[2], row[1], ZERO, ZERO), strict=True):
            yield AccountValue(tag, value, currency)


def subscribe(gateway: "Gateway", client: "Client", account: str) -> None:
    """The first answer to `reqAccountUpdates`: values, holdings, time, end."""
    client.account = account
    _send_updates(gateway, client, sorted(gateway.broker.state.positions))
    if gateway.conditions.end("account"):
        client.send(out.account_download_end(gateway.account))


def subscribe_multi(gateway: "Gateway", client: "Client", req: int) -> None:
    """The first answer to `reqAccountUpdatesMulti`."""
    client.multi[req] = gateway.account
    _send_multi(gateway, client, req)
    if gateway.conditions.end("account_multi"):
        client.send(out.account_multi_end(req))


def summary(gateway: "Gateway", client: "Client", req: int, tags: tuple[str, ...]) -> None:
    """The first answer to `reqAccountSummary`."""
    client.summaries[req] = tags
    _send_summary(gateway, client, req, tags)
    if gateway.conditions.end("summary"):
        client.send(out.account_summary_end(req))


def positions(gateway: "Gateway", client: "Client") -> None:
    """All holdings and their end."""
    client.positions = True
    for symbol in sorted(gateway.broker.state.positions):
        client.send(_position(gateway, symbol))
    if gateway.conditions.end("positions"):
        client.send(out.position_end())


def push(gateway: "Gateway", client: "Client", symbols: list[str]) -> None:
    """What a change of these holdings means for one client."""
    if client.positions:
        for symbol in symbols:
            client.send(_position(gateway, symbol))
    if client.account is not None:
        _send_updates(gateway, client, symbols)
    for req in client.multi:
        _send_multi(gateway, client, req)
    for req, tags in client.summaries.items():
        _send_summary(gateway, client, req, tags)


def _position(gateway: "Gateway", symbol: str) -> Message:
    """One holding."""
    books = gateway.books
    contract = books.contract(symbol, gateway.broker.exchange.currency_of(symbol)).eleven("", right="")
    shares = gateway.broker.state.positions.get(symbol, ZERO)
    return out.position(gateway.account, contract, shares, books.cost(symbol) if shares else ZERO)


def _send_updates(gateway: "Gateway", client: "Client", symbols: list[str]) -> None:
    """Values and these holdings for a subscriber of the account."""
    for tag, value, currency in values(gateway):
        client.send(out.account_value(tag, value, currency, gateway.account))
    for symbol in symbols:
        client.send(_portfolio(gateway, symbol))
    client.send(out.account_time(f"{gateway.now:%H:%M}"))


def _portfolio(gateway: "Gateway", symbol: str) -> Message:
    """One holding with its value; without any known price it is valued at 0."""
    broker, books = gateway.broker, gateway.books
    listing = gateway.catalogue.share(symbol, broker.exchange.currency_of(symbol))
    contract = books.contract(symbol, broker.exchange.currency_of(symbol)).eleven(listing.primary if listing else "")
    shares, cost = broker.state.positions.get(symbol, ZERO), books.cost(symbol)
    price = (None if broker.state.now is None else Scene(broker.exchange, broker.state).mark(symbol)) or ZERO
    with localcontext(EXACT):
        value, gain = shares * price, shares * (price - cost)
    return out.portfolio(contract, shares, price, value, cost if shares else ZERO, gain, gateway.account)


def _send_multi(gateway: "Gateway", client: "Client", req: int) -> None:
    """Values under a request id."""
    for tag, value, currency in values(gateway):
        client.send(out.account_multi(req, gateway.account, tag, value, currency))


def _send_summary(gateway: "Gateway", client: "Client", req: int, tags: tuple[str, ...]) -> None:
    """The values that the tags ask for; `$LEDGER:ALL` are those of every currency."""
    ledger = any(tag.startswith(LEDGER) for tag in tags)
    for tag, value, currency in values(gateway):
        if tag in tags or (ledger and tag in PER_CURRENCY):
            client.send(out.account_summary(req, gateway.account, tag, value, currency))
