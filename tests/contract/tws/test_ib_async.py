"""The unmodified ib_async against the simulator: everything that the executor will ask of it."""

import json
import logging
from decimal import Decimal

import pytest
from ib_async import IB, LimitOrder, Stock
from ib_async.util import UNSET_DOUBLE

from tests.support.tws import DAY, NEXT_DAY, Desk, serving, until

EXPECTED = {1: 20, 3: 114, 9: 19, 20: 23}


@pytest.fixture
async def desk(tmp_path):
    """A gateway at the slot of a session."""
    async with serving(Desk(tmp_path)) as served:
        served.slot()
        yield served


@pytest.fixture
async def connect(desk, caplog):
    """Makes clients; at the end no message may have been dropped by the library's decoder."""
    clients: list[IB] = []

    async def make(client_id: int = 7, **options) -> IB:
        ib = IB()
        ib.RaiseRequestErrors = True
        clients.append(ib)
        await ib.connectAsync("127.0.0.1", desk.port, clientId=client_id, timeout=5, raiseSyncErrors=True, **options)
        return ib

    yield make
    for ib in clients:
        ib.disconnect()
    await until(lambda: not desk.gateway.clients)
    assert [record for record in caplog.records if record.name == "ib_async.Decoder"] == []
    assert desk.gateway.refused == 0


async def aapl(ib):
    (contract,) = await ib.qualifyContractsAsync(Stock("AAPL", "SMART", "USD"))
    return contract


def order(action, quantity, limit, ref, **more):
    return LimitOrder(action, quantity, limit, tif="DAY", account="DU1234567", orderRef=ref, **more)


async def test_connecting_completes_all_start_up_requests_fifty_times_over(desk, connect):
    for _ in range(50):
        ib = await connect()
        assert (ib.client.serverVersion(), ib.managedAccounts()) == (178, ["DU1234567"])
        assert {value.tag for value in ib.accountValues()} >= {"NetLiquidation", "AccountReady", "CashBalance", "ExchangeRate"}
        ib.disconnect()
        await until(lambda: not desk.gateway.clients)


async def test_one_contract_is_qualified_an_ambiguous_and_an_unknown_one_are_not(connect):
    ib = await connect()
    ib.RaiseRequestErrors = False
    one, ambiguous, none = await ib.qualifyContractsAsync(
        Stock("AAPL", "SMART", "USD"), Stock("AAPL"), Stock("ZZZ", "SMART", "USD")
    )
    assert (one.conId, one.primaryExchange, one.tradingClass) == (265598, "NASDAQ", "NMS")
    assert (ambiguous, none) == (None, None)


async def test_contract_details_carry_tick_rule_and_hours_with_weekend_holiday_and_half_day(desk, connect):
    ib = await connect()
    (details,) = await ib.reqContractDetailsAsync(await aapl(ib))
    rules = dict(zip(details.validExchanges.split(","), details.marketRuleIds.split(","), strict=True))
    (step,) = await ib.reqMarketRuleAsync(int(rules["SMART"]))
    assert (step.lowEdge, step.increment, details.priceMagnifier, details.timeZoneId) == (0.0, 0.01, 1, "US/Eastern")
    hours = dict(text.split(":", 1) for text in details.liquidHours.split(";"))
    assert hours["20221004"] == "0930-20221004:1600"
    assert hours["20221008"] == "CLOSED"
    assert len({session.start.date() for session in details.liquidSessions()}) == 10


async def test_a_live_snapshot_has_the_quote_of_the_exchange_model(connect):
    ib = await connect()
    (ticker,) = await ib.reqTickersAsync(await aapl(ib))
    assert (ticker.bid, ticker.ask, ticker.last, ticker.close) == (189.96, 190.04, 190.0, 191.0)
    assert ticker.marketDataType == 1


async def test_a_delayed_snapshot_comes_with_its_notice_and_its_type(desk, connect):
    ib = await connect()
    contract = await aapl(ib)
    desk.fault("data", kind="delayed")
    said = []
    ib.errorEvent += lambda req, code, text, _: said.append(code)
    ib.reqMarketDataType(3)
    (ticker,) = await ib.reqTickersAsync(contract)
    assert (ticker.bid, ticker.ask, ticker.last, ticker.marketDataType) == (189.96, 190.04, 190.0, 3)
    assert said == [10167]


async def test_half_a_year_of_daily_bars_ends_with_the_running_session_without_its_future(connect):
    ib = await connect()
    bars = await ib.reqHistoricalDataAsync(await aapl(ib), "", "6 M", "1 day", "TRADES", useRTH=True)
    assert len(bars) == 126
    assert (bars[0].date.isoformat(), bars[-1].date.isoformat()) == ("2022-04-05", DAY)
    assert (bars[-2].open, bars[-2].high, bars[-2].low, bars[-2].close) == (190, 192, 188, 191)
    assert (bars[-1].open, bars[-1].high, bars[-1].low, bars[-1].close) == (190, 190, 190, 190)


async def test_the_account_has_cash_per_currency_and_a_base_whose_rate_is_one(connect):
    ib = await connect()
    summary = {(value.tag, value.currency): value.value for value in await ib.accountSummaryAsync()}
    assert summary["NetLiquidation", "USD"] == "1000000"
    assert summary["CashBalance", "USD"] == "1000000"
    assert [currency for (tag, currency), value in summary.items() if tag == "ExchangeRate" and value == "1"] == ["BASE", "USD"]


async def test_an_order_that_crosses_the_quote_is_filled_with_its_commission_and_position(connect):
    ib = await connect()
    trade = ib.placeOrder(await aapl(ib), order("BUY", 10, 191.0, "one"))
    await until(lambda: ib.positions() and trade.fills and trade.fills[0].commissionReport.execId)
    (fill,) = trade.fills
    assert (fill.execution.shares, fill.execution.price, fill.execution.orderRef) == (10, 190.04, "one")
    assert (fill.commissionReport.commission, fill.commissionReport.currency) == (1.0, "USD")
    assert fill.execution.time.isoformat() == f"{DAY}T14:30:00+00:00"
    assert (trade.orderStatus.status, trade.orderStatus.filled, trade.orderStatus.remaining) == ("Filled", 10, 0)
    (position,) = ib.positions()
    assert (position.contract.symbol, position.position, position.avgCost) == ("AAPL", 10, 190.04)


async def test_two_partial_fills_and_their_late_commissions_add_up(desk, connect):
    ib = await connect()
    desk.fault("rest", ref="parts")
    desk.fault("commission", ref="parts", when="late")
    trade = ib.placeOrder(await aapl(ib), order("BUY", 10, 191.0, "parts"))
    await until(lambda: trade.orderStatus.status == "Submitted")
    desk.fault("execute", ref="parts", quantity="4", price="190")
    await until(lambda: trade.orderStatus.filled == 4)
    assert (trade.orderStatus.status, trade.orderStatus.remaining) == ("Submitted", 6)
    desk.fault("execute", ref="parts", price="190.5")
    await until(lambda: trade.orderStatus.status == "Filled")
    assert [fill.commissionReport.execId for fill in trade.fills] == ["", ""]
    desk.fault("release")
    await until(lambda: all(fill.commissionReport.execId for fill in trade.fills))
    assert [(fill.execution.shares, fill.execution.cumQty) for fill in trade.fills] == [(4, 4), (6, 10)]
    assert trade.orderStatus.avgFillPrice == 190.3


async def test_a_cancel_ends_an_order_that_rests(connect):
    ib = await connect()
    placed = order("BUY", 10, 150.0, "rests")
    trade = ib.placeOrder(await aapl(ib), placed)
    await until(lambda: trade.orderStatus.status == "Submitted")
    ib.cancelOrder(placed)
    await until(lambda: trade.orderStatus.status == "Cancelled")
    assert [entry.status for entry in trade.log if not entry.errorCode][-2:] == ["PendingCancel", "Cancelled"]


@pytest.mark.parametrize("variant", ["a", "b", "c"])
async def test_a_rejection_reaches_the_client_in_each_of_its_shapes(desk, connect, variant):
    ib = await connect()
    said = []
    ib.errorEvent += lambda req, code, text, _: said.append((req, code))
    desk.fault("reject", variant=variant, text="Order rejected - reason: no")
    trade = ib.placeOrder(await aapl(ib), order("BUY", 10, 191.0, "no"))
    await until(lambda: trade.isDone() and said)
    assert said == [(trade.order.orderId, 201)]
    assert ib.positions() == []


async def test_a_new_client_under_the_same_id_finds_open_and_completed_orders_and_executions(connect, desk):
    ib = await connect()
    contract = await aapl(ib)
    ib.placeOrder(contract, order("BUY", 10, 191.0, "filled"))
    resting = ib.placeOrder(contract, order("BUY", 10, 150.0, "rests"))
    await until(lambda: resting.orderStatus.status == "Submitted")
    ib.disconnect()
    await until(lambda: not desk.gateway.clients)
    new = await connect()
    assert [trade.order.orderRef for trade in new.openTrades()] == ["rests"]
    assert [(fill.execution.orderRef, fill.execution.shares, fill.commissionReport.commission) for fill in new.fills()] == [
        ("filled", 10, 1.0)
    ]
    done = [trade for trade in new.trades() if trade.isDone()]
    assert [(trade.order.orderRef, trade.order.filledQuantity, trade.order.permId) for trade in done] == [("filled", 10, 1)]
    assert new.client.getReqId() > resting.order.orderId


async def test_another_client_sees_an_order_only_among_all_orders(connect):
    ib = await connect()
    trade = ib.placeOrder(await aapl(ib), order("BUY", 10, 150.0, "mine"))
    await until(lambda: trade.orderStatus.status == "Submitted")
    other = await connect(8)
    assert other.openTrades() == []
    await other.reqAllOpenOrdersAsync()
    assert [(trade.order.orderRef, trade.order.clientId) for trade in other.openTrades()] == [("mine", 7)]


async def test_yesterdays_orders_and_executions_are_gone_and_the_position_stays(desk, connect):
    ib = await connect()
    ib.placeOrder(await aapl(ib), order("BUY", 10, 191.0, "filled"))
    resting = ib.placeOrder(await aapl(ib), order("BUY", 10, 150.0, "expires"))
    await until(lambda: resting.orderStatus.status == "Submitted")
    desk.close()
    await until(lambda: resting.orderStatus.status == "Cancelled")
    ib.disconnect()
    await until(lambda: not desk.gateway.clients)
    desk.slot(NEXT_DAY)
    new = await connect()
    assert (new.fills(), new.trades()) == ([], [])
    assert [position.position for position in new.positions()] == [10]


async def test_a_client_id_in_use_is_refused_with_326_until_the_old_socket_is_closed(desk, connect):
    first = await connect()
    second, said = IB(), []
    second.errorEvent += lambda req, code, text, _: said.append(code)
    with pytest.raises((TimeoutError, ConnectionError)):
        await second.connectAsync("127.0.0.1", desk.port, clientId=7, timeout=0.3, raiseSyncErrors=True)
    assert 326 in said
    assert first.isConnected()
    first.disconnect()
    await until(lambda: not desk.gateway.clients)
    assert (await connect()).isConnected()


async def test_the_requests_have_the_exact_field_counts_that_the_requirement_names(desk, connect):
    ib = await connect()
    contract = await aapl(ib)
    await ib.reqTickersAsync(contract)
    await ib.reqHistoricalDataAsync(contract, "", "5 D", "1 day", "TRADES", useRTH=True)
    trade = ib.placeOrder(contract, order("BUY", 10, 191.0, "counted"))
    await until(trade.isDone)
    sent = [json.loads(line) for line in desk.frames.read_text().splitlines()]
    counts = {int(line["fields"].split("|")[0]): line["fields"].count("|") for line in sent if line["to"] == "server"
              and line["fields"][0].isdigit()}  # fmt: skip
    assert {number: counts[number] for number in EXPECTED} == EXPECTED


async def test_frames_cut_into_single_bytes_and_glued_twenty_at_a_time_are_understood(desk, connect):
    for split, glue in ((1, 1), (0, 20), (3, 20)):
        desk.fault("frames", split=split, glue=glue)
        ib = await connect()
        assert (await aapl(ib)).conId == 265598
        ib.disconnect()
        await until(lambda: not desk.gateway.clients)


async def test_a_library_that_lost_the_unset_values_of_a_commission_report_still_knows_that_it_is_unset(desk, connect):
    ib = await connect()
    desk.fault("commission", ref="unset", when="unset")
    trade = ib.placeOrder(await aapl(ib), order("BUY", 10, 191.0, "unset"))
    await until(lambda: trade.fills and trade.fills[0].commissionReport.execId)
    assert Decimal(trade.fills[0].commissionReport.commission) == Decimal(UNSET_DOUBLE)


async def test_an_execution_in_an_unknown_time_zone_is_dropped_by_the_library_while_the_status_says_filled(desk, caplog):
    ib = IB()
    await ib.connectAsync("127.0.0.1", desk.port, clientId=7, timeout=5, raiseSyncErrors=True)
    desk.fault("zone", zone="MEZ")
    with caplog.at_level(logging.CRITICAL, "ib_async.Decoder"):
        trade = ib.placeOrder(await aapl(ib), order("BUY", 10, 191.0, "mez"))
        await until(lambda: trade.orderStatus.status == "Filled")
    assert (trade.fills, trade.orderStatus.filled) == ([], 10)
    ib.disconnect()
