"""Quotes over the wire: snapshots and streams, live, frozen and delayed."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from services.simulator.market import HALF_SPREAD, Prices
from services.simulator.scripted import Scene
from services.simulator.tws import outbound as out
from services.simulator.tws.contracts import Instrument
from services.simulator.tws.inbound import Unreadable
from shared.protocol.money import Exact, divide

if TYPE_CHECKING:
    from services.simulator.tws.client import Client
    from services.simulator.tws.gateway import Gateway

LIVE, FROZEN, DELAYED, DELAYED_FROZEN = 1, 2, 3, 4
SIZE: Final = 100
MAX_TICKERS: Final = 100
ABSENT: Final = -1
NOT_SUBSCRIBED = (354, "Requested market data is not subscribed. Delayed market data is available.")
COMPETING = (10197, "No market data during competing live session")
DELAYED_SHOWN = (10167, "Requested market data is not subscribed. Displaying delayed market data.")
TOO_MANY = (101, "Max number of tickers has been reached.")


class Types(NamedTuple):
    """The tick types of one kind of data."""

    bid: int
    bid_size: int
    ask: int
    ask_size: int
    last: int
    last_size: int
    close: int
    time: int
    halted: int


LIVE_TYPES: Final = Types(1, 0, 2, 3, 4, 5, 9, 45, 49)
DELAYED_TYPES: Final = Types(66, 69, 67, 70, 68, 71, 75, 88, 90)


def request(gateway: "Gateway", client: "Client", req: int, found: Instrument, *, snapshot: bool) -> None:
    """Answer `reqMktData`; raises `Unreadable` with the error where there is no data."""
    kind = _kind(gateway, client, req, found)
    if not snapshot and len(client.tickers) >= MAX_TICKERS:
        raise Unreadable(TOO_MANY[0], req, TOO_MANY[1])
    client.send(out.market_data_type(req, kind))
    client.send(out.tick_parameters(req, found.tick))
    _send(gateway, client, req, found, kind)
    if snapshot:
        client.send(out.snapshot_end(req))
    else:
        client.tickers[req] = found


def push(gateway: "Gateway") -> None:
    """Send the quotes of a new time to all who stream them."""
    if gateway.conditions.deaf:
        return
    for client in list(gateway.clients.values()):
        for req, found in client.tickers.items():
            _send(gateway, client, req, found, LIVE if gateway.conditions.data == "live" else DELAYED)


def _kind(gateway: "Gateway", client: "Client", req: int, found: Instrument) -> int:
    """Which kind of data this request gets; says so where it is another than the one asked for."""
    condition = "live" if found.is_pair else gateway.conditions.data
    if condition == "competing":
        raise Unreadable(COMPETING[0], req, COMPETING[1])
    if not found.traded or condition == "none" or (condition == "delayed" and client.data_type in {LIVE, FROZEN}):
        raise Unreadable(NOT_SUBSCRIBED[0], req, NOT_SUBSCRIBED[1])
    if condition == "delayed":
        client.send(out.error(req, *DELAYED_SHOWN))
        return DELAYED
    now = gateway.broker.state.now
    closed = now is None or now.closed
    return FROZEN if client.data_type in {FROZEN, DELAYED_FROZEN} and closed else LIVE


def _send(gateway: "Gateway", client: "Client", req: int, found: Instrument, kind: int) -> None:
    """All ticks of one quote; what is absent comes as -1 with no size."""
    types = DELAYED_TYPES if kind in {DELAYED, DELAYED_FROZEN} else LIVE_TYPES
    quote = Prices() if gateway.conditions.data == "empty" and not found.is_pair else _quote(gateway, found)
    rows = (
        (types.bid, types.bid_size, quote.bid),
        (types.ask, types.ask_size, quote.ask),
        (types.last, types.last_size, quote.last),
    )
    for price_type, _, price in rows:
        client.send(out.tick_price(req, price_type, ABSENT if price is None else price, 0 if price is None else SIZE))
    for _, size_type, price in rows:
        client.send(out.tick_size(req, size_type, 0 if price is None else SIZE))
    if quote.close is not None:
        client.send(out.tick_price(req, types.close, quote.close, 0))
    client.send(out.tick_string(req, types.time, str(int(gateway.now.timestamp()))))
    client.send(out.tick_generic(req, types.halted, "0.0"))


def _quote(gateway: "Gateway", found: Instrument) -> Prices:
    """What the exchange model shows; a pair is quoted around its rate."""
    broker = gateway.broker
    scene = Scene(broker.exchange, broker.state)
    if not found.is_pair:
        seen = scene.quoted(found.symbol)
        return Prices(seen.bid, seen.ask, seen.last, seen.close)
    rates = scene.given_rates()
    if found.symbol not in rates or found.currency not in rates:
        return Prices()
    rate = divide(rates[found.symbol], rates[found.currency])
    bid, ask = (_to_tick(rate * (1 + sign * HALF_SPREAD), found.tick, sign) for sign in (-1, 1))
    return Prices(bid, ask, Exact(rate), Exact(rate))


def _to_tick(price: Decimal, tick: Exact, sign: int) -> Exact:
    """Round outward to the tick."""
    steps = (price / tick).to_integral_value(rounding=ROUND_CEILING if sign > 0 else ROUND_FLOOR)
    return Exact(steps * tick)
