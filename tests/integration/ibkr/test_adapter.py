"""The executor's broker port on the real ib_async, against the gateway of our own: every answer whole or none."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from services.executor.broker import BrokerLost, BrokerRefused, BrokerUnreadable, OrderStatus
from services.executor.ibkr.adapter import IbkrBroker
from services.executor.ibkr.connection import IdInUse, Target, open_link
from services.executor.ibkr.safety import BrokerUnsafe, Wanted
from services.simulator.orders import Terms
from shared.protocol.market import Order, QuoteKind, Side
from shared.protocol.money import Exact, Money
from tests.support.tws import DAY, NEXT_DAY, Desk, serving, until

BUY = Order("AAPL", "USD", Side.BUY, Exact(10), Exact(191))
RESTING = Order("AAPL", "USD", Side.BUY, Exact(10), Exact(150))


def target(desk: Desk, **changes: object) -> Target:
    fields = {
        "host": "127.0.0.1", "port": desk.port, "wanted": Wanted("paper", desk.port, allow_port=True), "stepped": True,
        "connect_s": 5.0, "request_s": 2.0, "retry_s": 0.02,
    }  # fmt: skip
    return Target(**{**fields, **changes})  # type: ignore[arg-type]


def broker_at(where: Target, **options: Any) -> IbkrBroker:
    return IbkrBroker(lambda: where, **options)


@pytest.fixture
async def desk(tmp_path) -> AsyncIterator[Desk]:
    async with serving(Desk(tmp_path)) as served:
        served.slot()
        yield served


@pytest.fixture
async def broker(desk) -> AsyncIterator[IbkrBroker]:
    made = broker_at(target(desk), commission_s=0.3)
    yield made
    await made.close()


async def test_the_clock_is_the_simulators_and_wait_returns_once_it_has_come(desk, broker):
    assert await broker.clock() == f"{DAY}T14:30:00.000000Z"
    assert (broker.connection, broker.known_clock) == (1, f"{DAY}T14:30:00.000000Z")
    waiting = asyncio.create_task(broker.wait(f"{DAY}T20:00:00.000000Z"))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    desk.close()
    assert await waiting == f"{DAY}T20:00:00.000000Z"


async def test_an_observation_has_quotes_ticks_rates_and_the_session_and_leaves_out_what_is_unknown(broker):
    seen = await broker.observe(("AAPL:USD", "MSFT:USD", "ZZZ:USD", "AAPL:EUR"))
    assert seen.clock == f"{DAY}T14:30:00.000000Z"
    aapl, msft = seen.value.quotes
    assert (aapl.key, aapl.kind, aapl.at) == ("AAPL:USD", QuoteKind.SIM, seen.clock)
    assert (aapl.bid, aapl.ask, aapl.last, aapl.close) == (Exact("189.96"), Exact("190.04"), Exact(190), Exact(191))
    assert msft.key == "MSFT:USD"
    assert seen.value.ticks == {"AAPL:USD": Exact("0.01"), "MSFT:USD": Exact("0.01")}
    assert seen.value.fx["USD"] == 1
    assert abs(seen.value.fx["EUR"] - Exact("1.25")) < Exact("0.001")
    session = seen.value.sessions["SMART"]
    assert (session.open, session.day) == (True, DAY)
    assert (session.opens_at, session.closes_at) == (f"{DAY}T13:30:00.000000Z", f"{DAY}T20:00:00.000000Z")


@pytest.mark.parametrize("kind", ["none", "competing"])
async def test_without_market_data_there_is_no_quote_and_no_error(desk, broker, kind):
    desk.fault("data", kind=kind)
    seen = await broker.observe(("AAPL:USD",))
    assert seen.value.quotes == ()


async def test_prices_that_are_absent_are_unknown_and_not_minus_one(desk, broker):
    desk.fault("data", kind="empty")
    assert (await broker.observe(("AAPL:USD",))).value.quotes == ()


async def test_history_is_the_last_closes_before_the_running_session(desk, broker):
    found = await broker.history(("AAPL", "ZZZ"), "USD", 5)
    assert found.value.session == DAY
    assert [bar.date for bar in found.value.bars["AAPL"]] == [
        "2022-09-27",
        "2022-09-28",
        "2022-09-29",
        "2022-09-30",
        "2022-10-03",
    ]
    assert {bar.close for bar in found.value.bars["AAPL"]} == {Exact(191)}
    assert list(found.value.bars) == ["AAPL"]
    desk.close()
    assert (await broker.history(("AAPL",), "USD", 1)).value.bars["AAPL"][0].date == DAY


async def test_an_order_is_sent_filled_and_found_with_its_execution_position_and_cash(broker):
    await broker.sync()
    await broker.place("one", BUY, broker.connection)
    await broker.sync()
    (order,) = (await broker.orders("one")).value
    assert (order.status, order.filled, order.order, order.permanent_id) == (OrderStatus.FILLED, Exact(10), BUY, "1")
    (execution,) = (await broker.executions()).value
    assert (execution.id, execution.number, execution.reference) == ("00000001.01.01", 1, "one")
    assert (execution.quantity, execution.price, execution.fee, execution.fx) == (
        Exact(10), Exact("190.04"), Money(Exact(1), "USD"), Exact(1),
    )  # fmt: skip
    assert (await broker.executions(1)).value == ()
    assert (await broker.positions()).value == {"AAPL:USD": Exact(10)}
    account = (await broker.account()).value
    assert (account.name, account.cash) == ("DU1234567", {"USD": Exact("998098.6")})


async def test_orders_are_open_cancelled_and_expired(desk, broker):
    await broker.sync()
    for reference in ("stays", "goes"):
        await broker.place(reference, RESTING, broker.connection)
    await broker.sync()
    opened = (await broker.orders(open_only=True)).value
    assert [(order.reference, order.status) for order in opened] == [
        ("stays", OrderStatus.WORKING),
        ("goes", OrderStatus.WORKING),
    ]
    await broker.cancel(opened[1].permanent_id)
    await broker.cancel(opened[1].permanent_id)
    desk.close()
    ended = {order.reference: (order.status, order.filled) for order in (await broker.orders()).value}
    assert ended == {"stays": (OrderStatus.EXPIRED, Exact(0)), "goes": (OrderStatus.CANCELLED, Exact(0))}
    await broker.cancel(opened[0].permanent_id)


async def test_a_rejected_order_is_found_as_rejected_and_one_that_the_gateway_refused_is_not_found(broker):
    await broker.sync()
    await broker.place("too dear", Order("AAPL", "USD", Side.BUY, Exact(1_000_000), Exact(191)), broker.connection)
    await broker.place("off the tick", Order("AAPL", "USD", Side.BUY, Exact(1), Exact("190.005")), broker.connection)
    await broker.sync()
    (order,) = (await broker.orders("too dear")).value
    assert order.status is OrderStatus.REJECTED
    assert "insufficient cash" in order.message
    assert (await broker.orders("off the tick")).value == ()


async def test_a_new_connection_sees_what_the_old_one_did_and_sends_nothing_for_it(desk, broker):
    await broker.sync()
    await broker.place("kept", RESTING, broker.connection)
    await broker.sync()
    with pytest.raises(BrokerLost, match="connection 0 ended before the order was sent"):
        await broker.place("late", RESTING, 0)
    await broker.renew()
    assert broker.connection == 2
    assert [order.reference for order in (await broker.orders()).value] == ["kept"]
    with pytest.raises(BrokerLost):
        await broker.place("late", RESTING, 1)
    assert len(desk.broker.orders) == 1


async def test_order_ids_never_fall_below_the_floor_even_when_the_gateway_rolled_them_back(desk):
    broker = broker_at(target(desk), order_floor=40)
    await broker.sync()
    await broker.place("first", RESTING, broker.connection)
    await broker.sync()
    desk.fault("restart", rollback=100)
    await until(lambda: not desk.gateway.clients and broker.known_clock is None)
    await broker.sync()
    await broker.place("second", RESTING, broker.connection)
    await broker.sync()
    first, second = desk.broker.orders.values()
    assert first.order_id == 41
    assert second.order_id > 41
    await broker.close()


async def test_a_commission_that_does_not_come_leaves_executions_unknown_and_a_late_one_makes_them_whole(desk, broker):
    await broker.sync()
    desk.fault("commission", when="late")
    await broker.place("late", BUY, broker.connection)
    with pytest.raises(BrokerLost, match=r"commission of execution 00000001\.01\.01 has not come"):
        await broker.executions()
    desk.fault("release")
    assert len((await broker.executions()).value) == 1


async def test_an_unset_commission_is_never_a_number(desk, broker):
    await broker.sync()
    desk.fault("commission", when="unset")
    await broker.place("unset", BUY, broker.connection)
    assert [execution.fee.amount for execution in (await broker.executions()).value] == [Exact(1)]


async def test_a_correction_takes_the_place_of_the_execution(desk, broker):
    await broker.sync()
    await broker.place("corrected", BUY, broker.connection)
    await broker.executions()
    desk.fault("revise", ref="corrected", price="190")
    (execution,) = (await broker.executions()).value
    assert (execution.id, execution.number, execution.price) == ("00000001.01.02", 1, Exact(190))


@pytest.mark.parametrize("of", ["positions", "executions", "open_orders", "completed_orders"])
async def test_a_list_without_its_end_marker_is_unknown_and_not_empty(desk, of):
    broker = broker_at(target(desk, request_s=0.3))
    await broker.sync()
    desk.fault("no_end", of=of)
    with pytest.raises(BrokerLost, match="no answer within"):
        await (broker.positions() if of == "positions" else broker.orders() if "orders" in of else broker.executions())
    await broker.close()


async def test_an_account_that_is_not_ready_is_refused_and_not_read_as_zero(desk):
    desk.fault("ready", on=False)
    broker = broker_at(target(desk))
    with pytest.raises(BrokerRefused, match="not_ready"):
        await broker.account()
    await broker.close()


async def test_after_1100_nothing_is_sent_or_read_until_1102(desk, broker):
    await broker.sync()
    desk.fault("lost")
    await asyncio.sleep(0.05)
    with pytest.raises(BrokerLost, match="1100"):
        await broker.positions()
    with pytest.raises(BrokerLost):
        await broker.place("nothing", BUY, broker.connection)
    desk.fault("restored")
    await asyncio.sleep(0.05)
    assert (await broker.positions()).value == {}
    assert desk.broker.orders == {}


async def test_a_half_open_gateway_is_found_out_by_its_heartbeat(desk):
    link = await open_link(target(desk, request_s=0.2))
    assert await link.alive()
    desk.fault("half_open")
    assert link.is_open
    assert not await link.alive()
    link.close()


async def test_a_client_id_in_use_is_known_at_once_and_tried_again_until_it_is_free(desk):
    first = await open_link(target(desk))
    started = asyncio.get_running_loop().time()
    with pytest.raises(IdInUse, match="client id 7 is in use"):
        await open_link(target(desk))
    assert asyncio.get_running_loop().time() - started < 2
    second = broker_at(target(desk))
    waiting = asyncio.create_task(second.clock())
    await asyncio.sleep(0.1)
    assert not waiting.done()
    first.close()
    assert await waiting is not None
    await second.close()


async def test_a_start_up_list_that_never_ends_is_no_connection(desk):
    desk.fault("no_end", of="positions")
    with pytest.raises(BrokerLost, match="no gateway at"):
        await open_link(target(desk, connect_s=0.3))
    assert desk.gateway.conditions.no_end == {"positions": 0}


def requests(desk: Desk) -> list[str]:
    """Everything that clients sent, handshake aside."""
    lines = [json.loads(line) for line in desk.frames.read_text().splitlines()] if desk.frames.exists() else []
    return [line["fields"] for line in lines if line["to"] == "server"]


async def test_a_wrong_mode_or_port_is_refused_before_a_byte_is_sent(desk):
    for wanted in (Wanted("Paper", desk.port), Wanted("paper", desk.port), Wanted("live", desk.port, allow_port=True)):
        with pytest.raises(BrokerUnsafe):
            await open_link(target(desk, wanted=wanted))
    assert requests(desk) == []


async def test_a_wrong_account_is_refused_before_any_order(tmp_path):
    async with serving(Desk(tmp_path, Terms(account="U7654321"))) as desk:
        desk.slot()
        with pytest.raises(BrokerUnsafe, match="account U7654321 is no paper account"):
            await broker_at(target(desk)).clock()
        await until(lambda: not desk.gateway.clients)
        assert not any(fields.startswith("3|") for fields in requests(desk))


async def test_a_connection_that_only_reads_sends_no_order(desk):
    broker = broker_at(target(desk, read_only=True))
    await broker.sync()
    with pytest.raises(BrokerRefused, match="read_only"):
        await broker.place("no", BUY, broker.connection)
    await broker.close()
    assert desk.broker.orders == {}


async def test_yesterdays_orders_are_not_found_and_its_position_is(desk, broker):
    await broker.sync()
    await broker.place("yesterday", BUY, broker.connection)
    await broker.sync()
    desk.close()
    desk.slot(NEXT_DAY)
    await broker.renew()
    assert (await broker.orders()).value == ()
    assert (await broker.positions()).value == {"AAPL:USD": Exact(10)}


def test_the_reasons_are_of_one_tree():
    from services.executor.broker import BrokerError

    assert all(issubclass(kind, BrokerError) for kind in (BrokerUnsafe, IdInUse, BrokerLost, BrokerRefused, BrokerUnreadable))
