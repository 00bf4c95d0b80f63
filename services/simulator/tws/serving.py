"""The answers to requests, one function each, found by the request's type or name."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from services.simulator.tws import account_lists, bars, contracts, placing, ticks
from services.simulator.tws import asking as ask
from services.simulator.tws import order_messages as wire
from services.simulator.tws import outbound as out
from services.simulator.tws.asking import Contract
from services.simulator.tws.books import client_of
from services.simulator.tws.contracts import Instrument
from services.simulator.tws.inbound import Unreadable
from shared.protocol.market import Side

if TYPE_CHECKING:
    from services.simulator.tws.client import Client
    from services.simulator.tws.gateway import Gateway

NO_DEFINITION: Final = (200, "No security definition has been found for the request")
AMBIGUOUS: Final = (200, "The contract description specified in the request is ambiguous.")
DATA_TYPES: Final = (1, 2, 3, 4)
MAX_SUMMARIES: Final = 2


def serve(gateway: "Gateway", client: "Client", request: ask.Request) -> None:
    """Answer one request; raises `Unreadable` with the error to answer, `NotStored`, `JournalError`."""
    match request:
        case ask.PlaceOrder():
            placing.place(gateway, client, request)
        case ask.CancelOrder():
            placing.cancel(gateway, client, request.order_id)
        case ask.MarketData():
            found = only(gateway, request.req, request.contract)
            ticks.request(gateway, client, request.req, found, snapshot=request.snapshot)
        case ask.ContractDetails():
            _contract_details(gateway, client, request)
        case ask.History():
            client.send(bars.answer(gateway, request, only(gateway, request.req, request.contract)))
        case ask.Executions():
            _executions(gateway, client, request)
        case ask.AccountSummary():
            _summary(gateway, client, request)
        case ask.AccountUpdates():
            _account_updates(gateway, client, request)
        case ask.AccountUpdatesMulti():
            account_lists.subscribe_multi(gateway, client, request.req)
        case ask.Numbered():
            _NUMBERED[request.kind](gateway, client, request.number)
        case ask.Plain():
            _PLAIN[request.kind](gateway, client)
        case ask.StartApi():
            raise Unreadable(501, out.SYSTEM, "Already connected.")


def only(gateway: "Gateway", about: int, contract: Contract) -> Instrument:
    """The one instrument that is meant; raises `Unreadable` for none or several."""
    found = gateway.catalogue.find(contract)
    if len(found) != 1:
        code, text = AMBIGUOUS if found else NO_DEFINITION
        raise Unreadable(code, about, text)
    return found[0]


def _contract_details(gateway: "Gateway", client: "Client", request: ask.ContractDetails) -> None:
    """All that fit, then the end; an error without an end for none."""
    found = gateway.catalogue.find(request.contract)
    if not found:
        raise Unreadable(NO_DEFINITION[0], request.req, NO_DEFINITION[1])
    for instrument in found:
        client.send(contracts.details(request.req, instrument, gateway.calendar, gateway.day))
    if gateway.conditions.end("contracts"):
        client.send(out.contract_details_end(request.req))


def _executions(gateway: "Gateway", client: "Client", request: ask.Executions) -> None:
    """Executions of the day, each with its commission behind it where that is known, then the end."""
    books = gateway.books
    for execution in books.executions():
        order = gateway.broker.orders[execution.perm_id]
        side = "BUY" if execution.side is Side.BUY else "SELL"
        if request.client not in {0, client_of(order)} or request.symbol not in {"", execution.symbol}:
            continue
        if request.side not in {"", side} or order.perm_id in books.hidden:
            continue
        client.send(wire.execution(books.wire(order), books.wire_execution(execution), request.req))
        if gateway.teller.told_on_request(execution):
            client.send(gateway.teller.commission(execution))
    if gateway.conditions.end("executions"):
        client.send(out.executions_end(request.req))


def _summary(gateway: "Gateway", client: "Client", request: ask.AccountSummary) -> None:
    """Values of the tags; a gateway allows few of these at a time."""
    if len(client.summaries) >= MAX_SUMMARIES and request.req not in client.summaries:
        text = "Error processing request.-'bN' : cause - Maximum number of account summary requests exceeded"
        raise Unreadable(322, request.req, text)
    account_lists.summary(gateway, client, request.req, request.tags)


def _account_updates(gateway: "Gateway", client: "Client", request: ask.AccountUpdates) -> None:
    """Subscribe, or end the subscription."""
    if not request.subscribe:
        client.account = None
    elif request.account not in {"", gateway.account}:
        raise Unreadable(
            321, out.SYSTEM, f"Error validating request.-'bN' : cause - Invalid account code '{request.account[:20]}'."
        )
    else:
        account_lists.subscribe(gateway, client, gateway.account)


def _open_orders(gateway: "Gateway", client: "Client", owner: int | None) -> None:
    """Working orders of one client or all, each with its status, then the end."""
    for order in gateway.books.open(owner):
        said = gateway.teller.said(order)
        client.send(wire.open_order(said))
        client.send(wire.order_status(said))
    if gateway.conditions.end("open_orders"):
        client.send(out.open_order_end())


def _completed_orders(gateway: "Gateway", client: "Client") -> None:
    """Orders of the day that have ended, then the end."""
    for order in gateway.books.completed():
        client.send(wire.completed_order(gateway.books.wire(order)))
    if gateway.conditions.end("completed_orders"):
        client.send(out.completed_orders_end())


def _cancel_positions(_: "Gateway", client: "Client") -> None:
    """No more position updates."""
    client.positions = False


def _auto_open_orders(_: "Gateway", client: "Client") -> None:
    """Client 0 takes over orders that are made by hand; here they are never open."""
    client.auto_open = True


def _global_cancel(gateway: "Gateway", _: "Client") -> None:
    """End all orders of all clients."""
    for order in gateway.books.open():
        placing.end(gateway, order)


def _market_rule(gateway: "Gateway", client: "Client", rule: int) -> None:
    """Price steps; an unknown rule is an error about no request, as on the real wire."""
    steps = contracts.RULES.get(rule)
    if steps is None:
        raise Unreadable(321, out.SYSTEM, f"Error validating request.-'bN' : cause - Invalid market rule id {rule}")
    client.send(out.market_rule(rule, steps))


def _data_type(_: "Gateway", client: "Client", kind: int) -> None:
    """Live, frozen, delayed or delayed and frozen, for what is asked from now on."""
    if kind not in DATA_TYPES:
        raise Unreadable(321, out.SYSTEM, f"Error validating request.-'bN' : cause - Invalid market data type {kind}")
    client.data_type = kind


_NUMBERED: Final[dict[str, Callable[["Gateway", "Client", int], object]]] = {
    "cancelMktData": lambda _, client, req: client.tickers.pop(req, None),
    "cancelHistoricalData": lambda gateway, client, req: None,
    "reqMarketDataType": _data_type,
    "cancelAccountSummary": lambda _, client, req: client.summaries.pop(req, None),
    "cancelAccountUpdatesMulti": lambda _, client, req: client.multi.pop(req, None),
    "reqMarketRule": _market_rule,
}
_PLAIN: Final[dict[str, Callable[["Gateway", "Client"], object]]] = {
    "reqOpenOrders": lambda gateway, client: _open_orders(gateway, client, client.id),
    "reqAllOpenOrders": lambda gateway, client: _open_orders(gateway, client, None),
    "reqAutoOpenOrders": _auto_open_orders,
    "reqCompletedOrders": _completed_orders,
    "reqIds": lambda gateway, client: client.send(out.next_valid_id(gateway.next_id(client.id or 0))),
    "reqManagedAccts": lambda gateway, client: client.send(out.managed_accounts([gateway.account])),
    "reqCurrentTime": lambda gateway, client: client.send(out.current_time(int(gateway.now.timestamp()))),
    "reqGlobalCancel": _global_cancel,
    "reqPositions": account_lists.positions,
    "cancelPositions": _cancel_positions,
}
