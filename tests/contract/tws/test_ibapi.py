"""IBKR's own Python client, threads and all, against the simulator: an independent reader of the same protocol."""

import asyncio
import json
import logging
import threading
from typing import Any

import pytest
from ibapi.client import EClient
from ibapi.contract import Contract
from ibapi.execution import ExecutionFilter
from ibapi.order import Order
from ibapi.order_cancel import OrderCancel
from ibapi.wrapper import EWrapper

from tests.support.tws import DAY, Desk, serving, until

FARMS = {2104, 2106, 2158}


class Client(EWrapper, EClient):  # type: ignore[misc]
    """Keeps every callback as `(name, arguments)`."""

    def __init__(self) -> None:
        EClient.__init__(self, wrapper=self)
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.first_id = 0

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name in KEPT:
            calls = super().__getattribute__("calls")

            def keep(*arguments: Any, **named: Any) -> None:
                calls.append((name, (*arguments, *named.values())))

            return keep
        return found

    def nextValidId(self, orderId: int) -> None:  # noqa: N802, N803
        self.first_id = orderId

    def of(self, name: str) -> list[tuple[Any, ...]]:
        """The arguments of every call of one name."""
        return [arguments for other, arguments in self.calls if other == name]


KEPT = {
    "managedAccounts", "error", "contractDetails", "contractDetailsEnd", "marketRule", "tickPrice", "tickSnapshotEnd",
    "marketDataType", "historicalData", "historicalDataEnd", "accountSummary", "accountSummaryEnd", "updateAccountValue",
    "accountDownloadEnd", "openOrder", "openOrderEnd", "orderStatus", "execDetails", "execDetailsEnd",
    "commissionAndFeesReport", "completedOrder", "completedOrdersEnd", "position", "positionEnd", "currentTime",
}  # fmt: skip


@pytest.fixture
async def desk(tmp_path):
    """A gateway at the slot of a session."""
    async with serving(Desk(tmp_path)) as served:
        served.slot()
        yield served


@pytest.fixture
async def connect(desk, caplog):
    """Makes clients; each has a thread of its own, which ends with the test."""
    clients: list[tuple[Client, threading.Thread]] = []
    caplog.set_level(logging.ERROR, "ibapi")

    async def make(client_id: int = 7) -> Client:
        client = Client()
        await asyncio.to_thread(client.connect, "127.0.0.1", desk.port, client_id)
        thread = threading.Thread(target=client.run, daemon=True)
        thread.start()
        clients.append((client, thread))
        await until(lambda: client.first_id and len(client.of("error")) == len(FARMS))
        return client

    yield make
    for client, thread in clients:
        await asyncio.to_thread(client.disconnect)
        await asyncio.to_thread(thread.join, 5)
        assert not thread.is_alive()
    assert desk.gateway.refused == 0
    assert [record.getMessage() for record in caplog.records if record.name.startswith("ibapi.decoder")] == []


def aapl() -> Contract:
    contract = Contract()
    contract.symbol, contract.secType, contract.exchange, contract.currency = "AAPL", "STK", "SMART", "USD"
    return contract


def order(action: str, quantity: int, limit: float, ref: str) -> Order:
    made = Order()
    made.action, made.totalQuantity, made.orderType, made.lmtPrice = action, quantity, "LMT", limit
    made.tif, made.account, made.orderRef = "DAY", "DU1234567", ref
    return made


def codes(client: Client) -> list[int]:
    """Error codes but for the farms'."""
    return [arguments[2] for arguments in client.of("error") if arguments[2] not in FARMS]


async def test_it_connects_and_reads_accounts_positions_orders_and_executions_to_their_ends(connect):
    client = await connect()
    client.reqPositions()
    client.reqOpenOrders()
    client.reqCompletedOrders(False)
    client.reqExecutions(1, ExecutionFilter())
    client.reqAccountUpdates(True, "DU1234567")
    client.reqAccountSummary(2, "All", "NetLiquidation,$LEDGER:ALL")
    client.reqCurrentTime()
    ends = ("positionEnd", "openOrderEnd", "completedOrdersEnd", "execDetailsEnd", "accountDownloadEnd", "accountSummaryEnd")
    await until(lambda: all(client.of(end) for end in (*ends, "currentTime")))
    assert client.of("managedAccounts") == [("DU1234567",)]
    assert ("NetLiquidation", "1000000", "USD", "DU1234567") in client.of("updateAccountValue")
    assert (2, "DU1234567", "NetLiquidation", "1000000", "USD") in client.of("accountSummary")
    assert codes(client) == []


async def test_it_reads_contracts_one_several_and_none_and_the_market_rule(connect):
    client = await connect()
    vague, unknown = aapl(), aapl()
    vague.exchange, vague.currency, unknown.symbol = "", "", "ZZZ"
    for req, contract in ((1, aapl()), (2, vague), (3, unknown)):
        client.reqContractDetails(req, contract)
    client.reqMarketRule(26)
    await until(lambda: client.of("marketRule") and codes(client) and len(client.of("contractDetailsEnd")) == 2)
    found = client.of("contractDetails")
    assert [(req, details.contract.conId) for req, details in found if req == 1] == [(1, 265598)]
    assert [details.contract.exchange for req, details in found if req == 2] == ["SMART", "MEXI"]
    assert codes(client) == [200]
    details = found[0][1]
    assert (details.marketRuleIds, details.validExchanges, details.timeZoneId) == ("26,26", "SMART,NASDAQ", "US/Eastern")
    ((rule, (step,)),) = client.of("marketRule")
    assert (rule, step.lowEdge, step.increment) == (26, 0.0, 0.01)


async def test_it_reads_a_snapshot_and_half_a_year_of_bars(connect):
    client = await connect()
    client.reqMktData(1, aapl(), "", True, False, [])
    client.reqHistoricalData(2, aapl(), "", "6 M", "1 day", "TRADES", 1, 1, False, [])
    await until(lambda: client.of("tickSnapshotEnd") and client.of("historicalDataEnd"))
    prices = {tick: price for _, tick, price, _ in client.of("tickPrice")}
    assert prices == {1: 189.96, 2: 190.04, 4: 190.0, 9: 191.0}
    bars = [bar for _, bar in client.of("historicalData")]
    assert (len(bars), bars[0].date, bars[-1].date, bars[-2].close) == (126, "20220405", DAY.replace("-", ""), 191.0)


async def test_it_reads_an_order_from_its_placing_to_its_fill_commission_and_position(connect, desk):
    client = await connect()
    client.reqPositions()
    client.placeOrder(client.first_id, aapl(), order("BUY", 10, 191.0, "theirs"))
    await until(lambda: client.of("commissionAndFeesReport") and len(client.of("position")) == 1)
    assert [arguments[1] for arguments in client.of("orderStatus")] == ["PreSubmitted", "Filled", "Filled"]
    ((_, contract, execution),) = client.of("execDetails")
    assert (contract.symbol, execution.shares, execution.price, execution.orderRef) == ("AAPL", 10, 190.04, "theirs")
    (report,) = client.of("commissionAndFeesReport")[0]
    assert (report.execId, report.commissionAndFees, report.currency) == (execution.execId, 1.0, "USD")
    order_id, _, read, state = client.of("openOrder")[0]
    assert (order_id, read.orderRef, read.lmtPrice, read.totalQuantity, state.status) == (1, "theirs", 191.0, 10, "PreSubmitted")
    client.reqCompletedOrders(False)
    await until(lambda: client.of("completedOrdersEnd"))
    ((_, completed, ended),) = client.of("completedOrder")
    assert (completed.orderRef, completed.filledQuantity, completed.permId) == ("theirs", 10, read.permId)
    assert (ended.status, ended.completedStatus) == ("Filled", "Filled Size: 10")
    sent = [json.loads(text) for text in desk.frames.read_text().splitlines()]
    placed = next(entry["fields"] for entry in sent if entry["to"] == "server" and entry["fields"].startswith("3|"))
    assert placed.count("|") == 114


async def test_it_cancels_an_order_and_is_told_of_a_rejection(connect, desk):
    client = await connect()
    client.placeOrder(client.first_id, aapl(), order("BUY", 10, 150.0, "rests"))
    await until(lambda: client.of("orderStatus") and client.of("orderStatus")[-1][1] == "Submitted")
    client.cancelOrder(client.first_id, OrderCancel())
    await until(lambda: codes(client) == [202])
    assert [arguments[1] for arguments in client.of("orderStatus")][-2:] == ["PendingCancel", "Cancelled"]
    client.placeOrder(client.first_id + 1, aapl(), order("BUY", 10, 150.005, "off the tick"))
    await until(lambda: codes(client) == [202, 110])
    client.placeOrder(client.first_id + 2, aapl(), order("BUY", 1_000_000, 150.0, "too dear"))
    await until(lambda: codes(client) == [202, 110, 201])


async def test_a_new_client_finds_its_open_order_and_todays_execution_again(connect, desk):
    first = await connect()
    first.placeOrder(1, aapl(), order("BUY", 10, 191.0, "filled"))
    first.placeOrder(2, aapl(), order("BUY", 10, 150.0, "rests"))
    await until(lambda: first.of("orderStatus") and first.of("orderStatus")[-1][1] == "Submitted")
    await asyncio.to_thread(first.disconnect)
    await until(lambda: not desk.gateway.clients)
    second = await connect()
    assert second.first_id == 3
    second.reqOpenOrders()
    second.reqExecutions(1, ExecutionFilter())
    await until(lambda: second.of("openOrderEnd") and second.of("execDetailsEnd"))
    assert [read.orderRef for _, _, read, _ in second.of("openOrder")] == ["rests"]
    assert [execution.orderRef for _, _, execution in second.of("execDetails")] == ["filled"]
