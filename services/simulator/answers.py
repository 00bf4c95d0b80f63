"""The answers to requests: plain functions from broker and request to the fields of one line."""

from collections.abc import Sequence
from typing import Final, Literal, assert_never

import msgspec

from services.simulator import requests as ask
from services.simulator.account import net_liquidation, positions
from services.simulator.broker import Broker
from services.simulator.market import Moment, history
from services.simulator.orders import TICK, Cancel, Execution, Order, Place, Session, Status
from services.simulator.requests import RequestError
from services.simulator.scenario import EVERYTHING, Script
from services.simulator.schedule import advance
from services.simulator.scripted import Scene
from shared.protocol.calendar import Calendar
from shared.protocol.instants import Instant
from shared.protocol.market import ExchangeSession, Quote, QuoteKind, instrument_key

Answer = dict[str, object]
MAX_SCRIPTS: Final = 100
MAX_SHOWN_CHARS: Final = 200


class HistoryBar(msgspec.Struct, frozen=True):
    """One session of one symbol as canonical texts."""

    date: str
    open: str | None
    high: str | None
    low: str | None
    close: str | None
    volume: str | None


def query(broker: Broker, request: ask.Query) -> Answer:
    """The answer to a request that changes nothing; raises `RequestError`."""
    match request:
        case ask.Clock() | ask.Sync():
            return {}
        case ask.Quotes():
            return _quotes(broker, request)
        case ask.History():
            return _history(broker, request)
        case ask.Orders():
            return _orders(broker, request)
        case ask.Executions():
            return _page(broker, "executions", broker.executions[request.after :], request.limit)
        case ask.Positions():
            return {"positions": positions(broker.exchange, broker.state), "end": not broker.withholds("positions")}
        case ask.Account():
            return _account(broker)
        case _:
            assert_never(request)


def change(broker: Broker, calendar: Calendar, client: str, request: ask.Change) -> Answer:
    """Carry out a request that changes the books; raises `RequestError`, `NotStored`, `JournalError`."""
    match request:
        case ask.AdvanceTo():
            return _advance(broker, calendar, request)
        case ask.PlaceOrder():
            return _place(broker, client, request)
        case ask.CancelOrder():
            return _cancel(broker, request)
        case ask.ScriptMarket():
            return _script(broker, request)
        case _:
            assert_never(request)


def _advance(broker: Broker, calendar: Calendar, request: ask.AdvanceTo) -> Answer:
    """Move time, unless it is there already."""
    if broker.state.clock is not None and request.to <= broker.state.clock:
        return {}
    try:
        command = advance(broker.exchange.file, calendar, to=request.to, step=request.step, day=request.session)
    except ValueError as error:
        raise RequestError("bad_advance", str(error)) from error
    broker.submit(command)
    return {}


def _place(broker: Broker, client: str, request: ask.PlaceOrder) -> Answer:
    """Take or reject a new order."""
    if not request.symbol.isprintable():
        raise RequestError("bad_request", "place: symbol holds characters that cannot be printed - at `$.symbol`")
    placed = Place(client, request.ref, request.symbol, request.currency, request.side, request.quantity, request.limit)
    return {"order": broker.submit(placed).orders[0]}


def _cancel(broker: Broker, request: ask.CancelOrder) -> Answer:
    """End an order, or say how it ended."""
    if request.perm_id not in broker.orders:
        raise RequestError("unknown_order", f"there is no order with perm_id {request.perm_id}")
    broker.submit(Cancel(request.perm_id))
    return {"order": broker.orders[request.perm_id]}


def _script(broker: Broker, request: ask.ScriptMarket) -> Answer:
    """Take a script."""
    if len(broker.state.scripts) >= MAX_SCRIPTS:
        raise RequestError("too_many_scripts", f"{MAX_SCRIPTS} scripts hold already: put more into one")
    wanted = {entry.symbol for part in (request.script.quote, request.script.halt) for entry in part}
    unknown = sorted(symbol for symbol in wanted - {EVERYTHING} if symbol not in broker.exchange.file.columns)
    if unknown:
        raise RequestError("bad_request", f"script: not traded here: {', '.join(unknown)[:MAX_SHOWN_CHARS]}")
    broker.submit(Script(request.script))
    return {"scripts": len(broker.state.scripts)}


def _now(broker: Broker) -> tuple[Instant, Session, Moment]:
    """Clock, session and moment; raises `RequestError` before the first advance."""
    state = broker.state
    if state.clock is None or state.session is None or state.now is None:
        raise RequestError("no_clock", "the market has no time yet: send advance first")
    return state.clock, state.session, state.now


def _quotes(broker: Broker, request: ask.Quotes) -> Answer:
    """What is known of the instruments asked for; unknown ones come with every price absent."""
    clock, session, _ = _now(broker)
    known = [key for key in request.keys if broker.exchange.knows(key.symbol, key.currency)]
    scene = Scene(broker.exchange, broker.state)
    return {
        "quotes": [_quote(broker, scene, key, clock) for key in request.keys],
        "ticks": {instrument_key(key.symbol, key.currency): TICK for key in known},
        "fx": scene.given_rates(),
        "sessions": {
            name: ExchangeSession(scene.is_open(name), session.day, session.opens_at, session.closes_at)
            for name in scene.exchanges()
        },
    }


def _quote(broker: Broker, scene: Scene, key: ask.Key, clock: Instant) -> Quote:
    """One quote; its time is now, unless it is scripted to be older."""
    if not broker.exchange.knows(key.symbol, key.currency):
        return Quote(key.symbol, key.currency, QuoteKind.SIM, clock)
    found = scene.quoted(key.symbol)
    return Quote(key.symbol, key.currency, QuoteKind.SIM, found.at, found.bid, found.ask, found.last, found.close)


def _history(broker: Broker, request: ask.History) -> Answer:
    """Bars by symbol; a symbol that is not traded here is left out."""
    if len(request.symbols) * request.count > ask.MAX_ROWS:
        raise RequestError("bad_request", f"history: symbols × count is over {ask.MAX_ROWS}: ask in several requests")
    _, _, now = _now(broker)
    file = broker.exchange.file
    known = [symbol for symbol in request.symbols if symbol in file.columns]
    found = {symbol: history(file, symbol, request.count, now) for symbol in known}
    return {"bars": {symbol: [HistoryBar(day, *fields) for day, fields in bars] for symbol, bars in found.items()}}


def _orders(broker: Broker, request: ask.Orders) -> Answer:
    """Orders in order of their permanent id, which is also the order in which they were placed."""
    if request.ref is not None:
        found = broker.with_ref(request.ref)
    else:
        found = list(broker.state.working if request.open_only else broker.orders.values())
    kept = [order for order in found if order.perm_id > request.after and not (request.open_only and _ended(order))]
    return _page(broker, "orders", kept, request.limit)


def _ended(order: Order) -> bool:
    """Whether nothing more happens to the order."""
    return order.status is not Status.WORKING


def _page(broker: Broker, name: Literal["executions", "orders"], found: Sequence[Order | Execution], limit: int | None) -> Answer:
    """A list and its end marker, which is false where `limit` cut it, or a scenario withholds it."""
    return {name: found[:limit], "end": (limit is None or len(found) <= limit) and not broker.withholds(name)}


def _account(broker: Broker) -> Answer:
    """The account's sums."""
    terms, state = broker.exchange.terms, broker.state
    return {
        "account": terms.account,
        "base_currency": terms.base_currency,
        "cash": state.cash,
        "net_liquidation": net_liquidation(broker.exchange, state),
        "end": not broker.withholds("account"),
    }
