"""One send per intent, whatever dies and when: an unfinished intent is resolved by the broker's own evidence."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.bus.ports import NoResponder, Unavailable
from shared.ledger.state import OrderState, State
from shared.protocol.events import (
    CancelOrdered,
    FillSettled,
    HaltOrdered,
    OrderClosed,
    OrderIntended,
    OrderPlaced,
    OrderWithheld,
    ReconciliationFailed,
)
from shared.protocol.ids import DESK_BOOK
from shared.protocol.market import Side
from shared.protocol.money import Exact
from shared.protocol.reasons import OrderEnd, Withheld
from tests.integration.bus.servers import eventually
from tests.integration.executor.process import ExecutorProcess
from tests.integration.executor.rest import CLOSE, DAYS, NEXT_RUN, NEXT_SLOT, OPEN, RUN, SLOT, Rest
from tests.integration.simulator.client import Simulator

AT_ONCE = (("A", "BUY", "40", "51"),)
RESTING = (("B", "BUY", "50", "30"),)
ORDER = f"{RUN}-1"


def order_state(state: State, order: str = ORDER) -> OrderState | None:
    """How far the order has come, None before its verdict and after its run."""
    run = state.runs.get(order.rpartition("-")[0])
    return run.orders[order].state if run and order in run.orders else None


def is_settled(state: State) -> bool:
    return RUN not in state.runs and state.step is not None and RUN in state.step.started


async def last_event(rest: Rest) -> str:
    """The newest event, printed: a kill that fell elsewhere than the test says must be seen."""
    newest = (await rest.events())[-1]
    print(f"last event before the kill: {newest.id}")
    return newest.type


def at_broker(rest: Rest, reference: str = ORDER) -> list[str]:
    """The states of all orders that the broker has under a reference."""
    return [order["status"] for order in rest.client.ask("orders", ref=reference)["orders"]]


async def fills(rest: Rest) -> list[FillSettled]:
    return [event.expect(FillSettled) for event in await rest.events() if event.type == "FillSettled"]


async def intend_by_hand(rest: Rest, wanted: tuple[str, str, str, str]) -> None:
    """The verdict, and the intent of an executor that died before it could do anything about it."""
    await rest.until(lambda state: order_state(state) is OrderState.APPROVED)
    symbol, side, quantity, limit = wanted
    data = OrderIntended(ORDER, symbol, "USD", "SMART", Side(side), Exact(quantity), Exact(limit), ORDER)
    await rest.write("executor", "eq", ORDER, data, RUN)


def place_by_hand(broker: Simulator, wanted: tuple[str, str, str, str], reference: str = ORDER) -> dict[str, str]:
    """Send an order as the executor's own client, and close the connection."""
    symbol, side, quantity, limit = wanted
    client = broker.client("executor")
    try:
        placed: dict[str, str] = client.place(symbol, side, quantity, limit, reference)
        return placed
    finally:
        client.close()


async def test_the_broker_takes_an_order_twice_under_one_reference(make_rest: Callable[..., Rest], broker: Simulator):
    rest = make_rest({})
    rest.advance_broker("slot", SLOT, DAYS[0])
    place_by_hand(broker, RESTING[0])
    place_by_hand(broker, RESTING[0])
    assert at_broker(rest) == ["working", "working"]


@pytest.mark.parametrize("wanted", [AT_ONCE, RESTING], ids=["fills at once", "rests"])
async def test_an_order_that_was_sent_and_not_recorded_is_found_and_not_sent_again(
    make_rest: Callable[..., Rest], executor: ExecutorProcess, broker: Simulator, wanted
):
    rest = make_rest({RUN: wanted})
    executor.start()
    await rest.up_to_verdict()
    assert broker.process is not None
    os.kill(broker.process.pid, signal.SIGSTOP)
    await rest.until(lambda state: order_state(state) is OrderState.INTENDED)
    executor.kill()
    assert await last_event(rest) == "OrderIntended"
    executor.start()
    os.kill(broker.process.pid, signal.SIGCONT)
    state = await rest.until(lambda state: is_settled(state) or order_state(state) is OrderState.WORKING)
    assert at_broker(rest) == (["filled"] if wanted is AT_ONCE else ["working"])
    assert len(await fills(rest)) == (1 if wanted is AT_ONCE else 0)
    assert state.problem is None


async def test_an_intent_that_the_broker_provably_never_received_is_sent_for_the_first_time(
    make_rest: Callable[..., Rest], executor: ExecutorProcess
):
    rest = make_rest({RUN: AT_ONCE})
    executor.start()
    await rest.up_to_verdict()
    executor.kill()
    await intend_by_hand(rest, AT_ONCE[0])
    assert at_broker(rest) == []
    executor.start()
    await rest.until(is_settled)
    assert at_broker(rest) == ["filled"]
    assert [str(fill.quantity) for fill in await fills(rest)] == ["40"]


async def test_an_intent_never_received_is_withheld_if_a_halt_came_meanwhile(
    make_rest: Callable[..., Rest], executor: ExecutorProcess
):
    rest = make_rest({RUN: AT_ONCE})
    executor.start()
    await rest.up_to_verdict()
    executor.kill()
    await intend_by_hand(rest, AT_ONCE[0])
    await rest.write("desk", DESK_BOOK, "request-1", HaltOrdered(DESK_BOOK, "full", False, "drill"))
    executor.start()
    await rest.until(is_settled)
    assert at_broker(rest) == []
    withheld = [event.expect(OrderWithheld).reason for event in await rest.events() if event.type == "OrderWithheld"]
    assert withheld == [Withheld.HALT]


async def test_an_intent_that_another_executor_withheld_while_this_one_waited_for_the_broker_is_not_sent(
    make_rest: Callable[..., Rest], executor: ExecutorProcess, broker: Simulator
):
    rest = make_rest({RUN: AT_ONCE})
    executor.start()
    await rest.up_to_verdict()
    executor.kill()
    await intend_by_hand(rest, AT_ONCE[0])
    assert broker.process is not None
    os.kill(broker.process.pid, signal.SIGSTOP)
    executor.start()
    await eventually(lambda: _is_ready(rest, executor))
    await rest.write("executor", "eq", ORDER, OrderWithheld(ORDER, Withheld.HALT, "drill"), RUN)
    os.kill(broker.process.pid, signal.SIGCONT)
    assert executor.exit_code() == 4
    assert "executor: Fenced: " in executor.said()
    assert at_broker(rest) == []


async def _is_ready(rest: Rest, executor: ExecutorProcess) -> bool:
    """Whether this very process has folded the log."""
    assert executor.process is not None
    try:
        health = json.loads(await rest.connection.rpc.request("rpc.executor.health", b"{}", 1.0))
    except (NoResponder, Unavailable):
        return False
    return bool(health["ready"]) and health["pid"] == executor.process.pid


async def test_an_order_that_rests_when_the_executor_dies_is_closed_by_the_next_one(
    make_rest: Callable[..., Rest], executor: ExecutorProcess
):
    rest = make_rest({RUN: RESTING})
    executor.start()
    await rest.up_to_verdict()
    await rest.until(lambda state: order_state(state) is OrderState.WORKING)
    executor.kill()
    assert await last_event(rest) == "OrderPlaced"
    await rest.clock("close", CLOSE, DAYS[0])
    executor.start()
    await rest.quiet()
    assert at_broker(rest) == ["filled"]
    assert [(str(fill.quantity), str(fill.price)) for fill in await fills(rest)] == [("50", "19.555")]


async def test_an_order_that_was_done_when_the_executor_died_is_booked_by_the_next_one(
    make_rest: Callable[..., Rest], executor: ExecutorProcess, broker: Simulator
):
    rest = make_rest({RUN: AT_ONCE})
    executor.start()
    await rest.up_to_verdict()
    executor.kill()
    await intend_by_hand(rest, AT_ONCE[0])
    placed = place_by_hand(broker, AT_ONCE[0])
    await rest.write("executor", "eq", ORDER, OrderPlaced(ORDER, str(placed["perm_id"]), "done"), RUN)
    executor.start()
    await rest.until(is_settled)
    assert at_broker(rest) == ["filled"]
    closed = [event.expect(OrderClosed) for event in await rest.events() if event.type == "OrderClosed"]
    assert [(row.end, row.filled) for row in closed] == [(OrderEnd.FILLED, Exact(40))]


async def test_two_orders_under_one_of_our_references_stop_everything(
    make_rest: Callable[..., Rest], executor: ExecutorProcess, broker: Simulator
):
    rest = make_rest({RUN: RESTING})
    executor.start()
    await rest.up_to_verdict()
    executor.kill()
    await intend_by_hand(rest, RESTING[0])
    place_by_hand(broker, RESTING[0])
    place_by_hand(broker, RESTING[0])
    assert executor.start().exit_code() == 3
    assert "open order 20221004T1030-eq-1-1" in executor.said()
    failed = [event.expect(ReconciliationFailed) for event in await rest.events() if event.type == "ReconciliationFailed"]
    assert [line.what for line in failed[0].differences] == [f"open order {ORDER}"]
    assert executor.start().exit_code() == 3
    assert at_broker(rest) == ["working", "working"]


async def test_a_working_order_is_cancelled_when_an_operator_wants_it(make_rest: Callable[..., Rest], executor: ExecutorProcess):
    rest = make_rest({RUN: RESTING})
    executor.start()
    await rest.up_to_verdict()
    await rest.until(lambda state: order_state(state) is OrderState.WORKING)
    await rest.write("desk", DESK_BOOK, "request-1", CancelOrdered(ORDER, "changed my mind"))
    await rest.until(is_settled)
    assert at_broker(rest) == ["cancelled"]
    closed = [event.expect(OrderClosed) for event in await rest.events() if event.type == "OrderClosed"]
    assert [(row.end, row.filled) for row in closed] == [(OrderEnd.CANCELLED, Exact(0))]


async def test_an_exit_ends_another_books_entry_before_it_is_sent(make_rest: Callable[..., Rest], executor: ExecutorProcess):
    mo = "20221005T1030-mo-1"
    rest = make_rest({RUN: AT_ONCE, mo: (("A", "BUY", "5", "50"),), NEXT_RUN: (("A", "SELL", "40", "49.5"),)}, "mo", "eq")
    executor.start()
    await rest.open()
    for to, step, day in ((SLOT, "slot", DAYS[0]), (CLOSE, "close", DAYS[0]), (NEXT_SLOT, "slot", DAYS[1])):
        await rest.quiet()
        await rest.clock(step, to, day)
    await rest.quiet()
    assert at_broker(rest, f"{mo}-1") == ["cancelled"]
    assert at_broker(rest, f"{NEXT_RUN}-1") == ["filled"]


async def test_an_order_that_the_broker_rejects_is_closed_with_its_words(
    make_rest: Callable[..., Rest], executor: ExecutorProcess
):
    rest = make_rest({RUN: (("A", "SELL", "1", "50"),)})
    executor.start()
    await rest.up_to_verdict()
    await rest.until(is_settled)
    closed = [event.expect(OrderClosed) for event in await rest.events() if event.type == "OrderClosed"]
    assert closed[0].end is OrderEnd.REJECTED
    assert "short sale" in closed[0].message


async def test_an_executor_that_waits_for_the_simulator_ends_at_once_on_a_signal(
    make_rest: Callable[..., Rest], executor: ExecutorProcess, tmp_path: Path
):
    rest = make_rest({})
    await rest.clock_log("open", OPEN, DAYS[0])
    executor.start()
    assert (await rest.ask("rpc.executor.quotes", keys=["A:USD"]))["error"]["code"] == "no_clock"
    assert executor.end() == 0
