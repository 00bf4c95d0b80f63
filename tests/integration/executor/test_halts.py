"""Halts that land anywhere between a verdict and a send: nothing is sent that was approved before them, by log and broker."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.ledger.state import OrderState, State
from shared.protocol.events import EVENT_TYPES, HaltOrdered, OrderIntended, OrderWithheld
from shared.protocol.ids import DESK_BOOK
from shared.protocol.reasons import Withheld
from tests.integration.executor.process import ExecutorProcess
from tests.integration.executor.rest import RUN, Rest
from tests.support.desks import wait_for

AT_ONCE = (("A", "BUY", "40", "51"), ("V", "BUY", "50", "11"))
RESTING = (("B", "BUY", "50", "10"), ("A", "BUY", "1", "30"))
FIRST, SECOND = f"{RUN}-1", f"{RUN}-2"
K1, K2 = "20221004T1030-eq-k1", "20221004T1030-eq-k2"
EXITS = (("A", "SELL", "40", "49"), ("V", "SELL", "50", "9"))
PAUSE_S = 2.2
"""Longer than the executor may stand still between an intent and its sending without reading the log's end again."""


def at_broker(rest: Rest, order: str) -> list[str]:
    return [found["status"] for found in rest.client.ask("orders", ref=order)["orders"]]


def positions(rest: Rest) -> dict[str, str]:
    rows = rest.client.ask("positions")["positions"]
    return {row["symbol"]: row["quantity"] for row in rows}


async def withheld(rest: Rest) -> dict[str, Withheld]:
    found = [event.expect(OrderWithheld) for event in await rest.events() if event.type == "OrderWithheld"]
    return {row.order: row.reason for row in found}


async def intents_after(rest: Rest, request: str) -> list[str]:
    """Orders intended behind a halt."""
    events = await rest.events()
    halt = next(event.seq for event in events if event.id.endswith(f":HaltOrdered:{request}"))
    return [event.expect(OrderIntended).order for event in events if event.type == "OrderIntended" and event.seq > halt]


async def halt(rest: Rest, request: str, kind: str = "full", *, liquidate: bool = False) -> None:
    await rest.write("desk", DESK_BOOK, request, HaltOrdered(DESK_BOOK, kind, liquidate, "drill"))


APPENDS = [f"append.{when}.{kind}{caused}" for when in ("before", "after") for kind in EVENT_TYPES for caused in ("", ".caused")]
OPS = ("hello", "place", "sync", "orders", "executions", "positions", "account", "quotes", "cancel", "wait", "clock")
REQUESTS = [f"broker.{when}.{op}" for when in ("before-send", "after-send", "after-answer") for op in OPS]


class Stopper:
    """Stops the executor behind one of its appends, before its effect, until it is let go on."""

    def __init__(self, executor: ExecutorProcess, folder: Path) -> None:
        self._executor, self._places = executor, folder / "places" / "executor"
        self._places.mkdir(parents=True)
        executor.environment["PROPDESK_BORDERS"] = str(self._places.parent)
        for name in (*APPENDS, *(f"receive.{kind}" for kind in EVENT_TYPES), *REQUESTS):
            (self._places / name).touch()  # these kill nobody

    def behind(self, kind: str) -> None:
        """The next append of this kind stops the process."""
        (self._places / f"append.after.{kind}.stop").touch()

    def wait(self) -> None:
        """Until it stands still."""
        assert self._executor.process is not None
        stat = Path(f"/proc/{self._executor.process.pid}/stat")
        wait_for(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T", 20)

    def go_on(self) -> None:
        assert self._executor.process is not None
        os.kill(self._executor.process.pid, signal.SIGCONT)


@pytest.fixture
def stopper(executor: ExecutorProcess, tmp_path: Path) -> Stopper:
    return Stopper(executor, tmp_path)


def is_over(state: State) -> bool:
    return RUN not in state.runs and state.step is not None and RUN in state.step.started


async def test_a_halt_between_verdict_and_intent_withholds_all_and_releases_reservations(
    make_rest: Callable[..., Rest], executor: ExecutorProcess
) -> None:
    rest = make_rest({RUN: AT_ONCE})
    executor.start()
    await rest.up_to_verdict()
    executor.kill()
    state = await rest.until(lambda state: RUN in state.runs and bool(state.runs[RUN].orders))
    assert (len(state.books["eq"].orders), state.books["eq"].month.used) == (2, 2)
    await halt(rest, "h1")
    executor.start()
    state = await rest.until(is_over)
    assert await withheld(rest) == {FIRST: Withheld.HALT, SECOND: Withheld.HALT}
    assert (await intents_after(rest, "h1"), at_broker(rest, FIRST), at_broker(rest, SECOND)) == ([], [], [])
    assert (state.books["eq"].orders, state.books["eq"].month.used) == ({}, 0)


async def test_a_halt_during_a_long_pause_between_intent_and_send_withholds_the_order(
    make_rest: Callable[..., Rest], executor: ExecutorProcess, stopper: Stopper
) -> None:
    rest = make_rest({RUN: AT_ONCE})
    stopper.behind("OrderIntended")
    executor.start()
    await rest.up_to_verdict()
    await rest.until(lambda state: _intended(state, FIRST))
    stopper.wait()
    await halt(rest, "h1")
    await asyncio.sleep(PAUSE_S)
    stopper.go_on()
    await rest.until(is_over)
    assert await withheld(rest) == {FIRST: Withheld.HALT, SECOND: Withheld.HALT}
    assert (await intents_after(rest, "h1"), at_broker(rest, FIRST), at_broker(rest, SECOND)) == ([], [], [])


async def test_a_long_pause_alone_sends_the_order_once(
    make_rest: Callable[..., Rest], executor: ExecutorProcess, stopper: Stopper
) -> None:
    rest = make_rest({RUN: AT_ONCE})
    stopper.behind("OrderIntended")
    executor.start()
    await rest.up_to_verdict()
    await rest.until(lambda state: _intended(state, FIRST))
    stopper.wait()
    await asyncio.sleep(PAUSE_S)
    stopper.go_on()
    await rest.until(is_over)
    assert (at_broker(rest, FIRST), at_broker(rest, SECOND)) == (["filled"], ["filled"])


async def test_a_halt_during_a_short_pause_finds_the_order_withheld_or_sent_and_cancelled_at_once(
    make_rest: Callable[..., Rest], executor: ExecutorProcess, stopper: Stopper
) -> None:
    rest = make_rest({RUN: RESTING})
    stopper.behind("OrderIntended")
    executor.start()
    await rest.up_to_verdict()
    await rest.until(lambda state: _intended(state, FIRST))
    stopper.wait()
    await halt(rest, "h1")
    stopper.go_on()
    await rest.until(is_over)
    reasons = await withheld(rest)
    assert reasons[SECOND] is Withheld.HALT
    assert at_broker(rest, FIRST) == ([] if FIRST in reasons else ["cancelled"])
    assert (await intents_after(rest, "h1"), at_broker(rest, SECOND)) == ([], [])


@pytest.mark.parametrize("kind", ["full", "reduce_only"])
async def test_a_halt_cancels_the_entries_that_work(make_rest: Callable[..., Rest], executor: ExecutorProcess, kind: str) -> None:
    rest = make_rest({RUN: RESTING})
    executor.start()
    await rest.up_to_verdict()
    await rest.until(lambda state: RUN in state.runs and _states(state) == {OrderState.WORKING})
    await halt(rest, "h1", kind)
    await rest.until(is_over)
    assert (at_broker(rest, FIRST), at_broker(rest, SECOND)) == (["cancelled"], ["cancelled"])


async def test_a_halt_during_a_liquidation_stops_it_and_it_begins_anew(
    make_rest: Callable[..., Rest], executor: ExecutorProcess, stopper: Stopper
) -> None:
    rest = make_rest({RUN: AT_ONCE, K1: EXITS, K2: EXITS})
    executor.start()
    await rest.up_to_verdict()
    await rest.until(is_over)
    assert positions(rest) == {"A": "40", "V": "50"}
    stopper.behind("OrderIntended.caused")
    await halt(rest, "h1", liquidate=True)
    await rest.until(lambda state: _intended(state, f"{K1}-1"))
    stopper.wait()
    await halt(rest, "h2")
    await asyncio.sleep(PAUSE_S)
    stopper.go_on()
    await rest.until(lambda state: not state.books["eq"].holdings and not state.runs)
    assert await withheld(rest) == {f"{K1}-1": Withheld.HALT, f"{K1}-2": Withheld.HALT}
    assert await intents_after(rest, "h2") == [f"{K2}-1", f"{K2}-2"]
    assert positions(rest) == {}


def _intended(state: State, order: str) -> bool:
    run = state.runs.get(order.rpartition("-")[0])
    return run is not None and order in run.orders and run.orders[order].state is OrderState.INTENDED


def _states(state: State) -> set[OrderState]:
    return {order.state for order in state.runs[RUN].orders.values()}
