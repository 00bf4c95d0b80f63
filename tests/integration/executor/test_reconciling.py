"""What differs at the broker blocks buying and ends nothing; what it did not say is unknown, never empty; what is pending is
looked at again."""

from collections.abc import Callable

import pytest

from shared.protocol.events import AccountReconciled, ReconciliationFailed
from shared.protocol.money import Exact
from tests.integration.executor.process import ExecutorProcess
from tests.integration.executor.rest import CLOSE, DAYS, NEXT_CLOSE, NEXT_RUN, NEXT_SLOT, RUN, SLOT, Rest
from tests.integration.simulator.client import Simulator

RESTING = {RUN: (("B", "BUY", "50", "30"),)}
ORDER = f"{RUN}-1"
OTHER = "20221004T1030-mo-1"


def script(rest: Rest, **entries: object) -> None:
    """Script the market from here on."""
    assert rest.client.ask("script", script=entries)["ok"]


async def looks(rest: Rest) -> dict[str, AccountReconciled | ReconciliationFailed]:
    """What every look at the account gave, by the id of its event."""
    found = {}
    for event in await rest.events():
        if event.type in {"AccountReconciled", "ReconciliationFailed"}:
            found[event.id] = event.data
    return found  # type: ignore[return-value]


async def test_an_order_by_hand_that_is_found_at_the_start_blocks_buying_and_the_desk_goes_on(
    make_rest: Callable[..., Rest], executor: ExecutorProcess, broker: Simulator
):
    rest = make_rest(RESTING)
    await rest.open()
    by_hand = broker.client("by-hand")
    by_hand.place("B", "BUY", "1", "30", "mine")
    by_hand.close()
    executor.start()
    state = await rest.until(lambda state: state.account.failed)
    assert state.problem is None
    await rest.quiet()
    await rest.clock("slot", SLOT, DAYS[0])
    state = await rest.quiet()
    assert list(await looks(rest)) == [
        "executor:ReconciliationFailed:_desk-20221004T133000Z",
        f"executor:ReconciliationFailed:{RUN}",
    ]
    assert (state.problem, state.account.failed) == (None, True)
    assert executor.end() == 0


@pytest.mark.parametrize("query", ["account", "executions", "orders", "positions"])
async def test_an_answer_without_its_end_marker_is_unknown_in_its_run_and_asked_anew_in_the_next(
    make_rest: Callable[..., Rest], executor: ExecutorProcess, query: str
):
    rest = make_rest({RUN: (("A", "BUY", "40", "51"),)})
    executor.start()
    await rest.open()
    await rest.quiet()
    script(rest, withhold=[{"query": query, "times": 1, "session": DAYS[1], "step": "slot"}])
    for to, step, day in ((SLOT, "slot", DAYS[0]), (CLOSE, "close", DAYS[0]), (NEXT_SLOT, "slot", DAYS[1])):
        await rest.clock(step, to, day)
        state = await rest.quiet()
    failed = (await looks(rest))[f"executor:ReconciliationFailed:{NEXT_RUN}"]
    assert isinstance(failed, ReconciliationFailed)
    assert {line.found for line in failed.differences} == {None}
    assert (failed.positions is None) == (query == "positions")
    assert state.account.failed
    assert state.books["eq"].held("A:USD") == 40
    await rest.clock("close", NEXT_CLOSE, DAYS[1])
    assert (await rest.quiet()).problem is None
    assert executor.end() == 0


async def test_shares_that_a_working_order_explains_are_looked_at_again_when_it_ends(
    make_rest: Callable[..., Rest], executor: ExecutorProcess
):
    """Four shares of what is being bought appear without any execution: pending until the order is filled, then a difference."""
    rest = make_rest(RESTING, "eq", "mo")
    executor.start()
    await rest.open()
    await rest.quiet()
    script(rest, adjust=[{"symbol": "B", "quantity": "4", "session": DAYS[0], "step": "slot"}])
    await rest.clock("slot", SLOT, DAYS[0])
    await rest.quiet()
    found = await looks(rest)
    assert isinstance(found[f"executor:ReconciliationFailed:{RUN}"], ReconciliationFailed)
    pending = found[f"executor:AccountReconciled:{OTHER}"]
    assert isinstance(pending, AccountReconciled)
    assert (pending.pending, pending.positions) == ((ORDER,), {"B:USD": Exact(4)})
    await rest.clock("close", CLOSE, DAYS[0])
    state = await rest.quiet()
    again = (await looks(rest))[f"executor:ReconciliationFailed:{ORDER}"]
    assert isinstance(again, ReconciliationFailed)
    assert [(line.what, line.expected, line.found) for line in again.differences] == [("position B:USD", "50", "54")]
    assert (state.account.failed, state.account.pending, state.problem) == (True, (), None)
