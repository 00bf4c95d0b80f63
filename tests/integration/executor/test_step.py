"""In step with the simulator's clock, and in touch with it again after every loss."""

import signal
from collections.abc import Callable

from shared.protocol.events import ReconciliationFailed
from tests.integration.executor.process import ExecutorProcess
from tests.integration.executor.rest import CLOSE, DAYS, NEXT_SLOT, RUN, SLOT, Rest
from tests.integration.executor.test_walk import SCRIPT
from tests.integration.simulator.client import Simulator


async def failures(rest: Rest) -> list[tuple[str, str | None, str | None, str | None]]:
    """Id and first difference of every failed reconciliation."""
    events = [event for event in await rest.events() if event.type == "ReconciliationFailed"]
    return [
        (event.id, line.what, line.expected, line.found)
        for event in events
        for line in event.expect(ReconciliationFailed).differences
    ]


async def test_a_simulator_ahead_of_the_whole_log_means_that_the_log_was_lost(
    make_rest: Callable[..., Rest], executor: ExecutorProcess
):
    rest = make_rest({})
    rest.advance_broker("slot", NEXT_SLOT, DAYS[1])
    await rest.open()
    assert executor.start().exit_code() == 3
    assert await failures(rest) == [
        ("executor:ReconciliationFailed:_desk-20221004T133000Z", "desk time", "2022-10-04T13:30:00.000000Z", NEXT_SLOT)
    ]
    assert executor.start().exit_code() == 3
    assert len(await failures(rest)) == 1
    assert NEXT_SLOT in executor.said()


async def test_the_same_is_noticed_in_the_middle_of_a_session(make_rest: Callable[..., Rest], executor: ExecutorProcess):
    rest = make_rest(SCRIPT)
    executor.start()
    await rest.up_to_verdict()
    rest.advance_broker("close", CLOSE, DAYS[0])
    await rest.until(lambda state: state.problem is not None)
    assert executor.exit_code() == 3
    assert [line[1:] for line in await failures(rest)] == [("desk time", SLOT, CLOSE)]


async def test_a_simulator_behind_the_log_is_waited_for(make_rest: Callable[..., Rest], executor: ExecutorProcess):
    rest = make_rest({})
    executor.start()
    await rest.open()
    await rest.quiet()
    await rest.clock_log("slot", SLOT, DAYS[0])
    await rest.until(lambda state: RUN in state.runs)
    assert (await rest.ask("rpc.executor.quotes", keys=["A:USD"]))["error"]["code"] == "out_of_step"
    assert not [event for event in await rest.events() if event.author == "executor"]
    rest.advance_broker("slot", SLOT, DAYS[0])
    await rest.quiet()


async def test_before_desk_time_is_known_nothing_happens(make_rest: Callable[..., Rest], executor: ExecutorProcess):
    rest = make_rest({})
    executor.start()
    rest.advance_broker("slot", SLOT, DAYS[0])
    assert (await rest.ask("rpc.executor.quotes", keys=["A:USD"]))["error"]["code"] == "out_of_step"
    assert await rest.events() == []
    assert executor.end() == 0


async def test_a_simulator_that_dies_and_comes_back_is_found_again(
    make_rest: Callable[..., Rest], executor: ExecutorProcess, broker: Simulator
):
    rest = make_rest(SCRIPT)
    executor.start()
    await rest.up_to_verdict()
    broker.end(signal.SIGKILL)
    await rest.until(lambda state: state.runs[RUN].verdict is not None)
    (broker.folder / "port").unlink()
    broker.start()
    rest.client.close()
    rest.client = broker.client("desk")
    state = await rest.quiet()
    assert state.problem is None
    assert [order["status"] for order in rest.client.ask("orders")["orders"]] == ["filled", "working", "working", "working"]


async def test_an_order_by_hand_fails_the_next_reconciliation_and_exits_stay_open(
    make_rest: Callable[..., Rest], executor: ExecutorProcess, broker: Simulator
):
    rest = make_rest(SCRIPT, "eq", "mo")
    executor.start()
    await rest.up_to_verdict()
    by_hand = broker.client("by-hand")
    by_hand.place("B", "BUY", "1", "30", "mine")
    by_hand.close()
    state = await rest.quiet()
    name = "executor:ReconciliationFailed:20221004T1030-mo-1"
    assert await failures(rest) == [(name, "open order mine", "none", "BUY 1 B:USD at 30, permanent id 1")]
    assert (state.account.failed, state.problem) == (True, None)
    executor.kill()
    executor.start()
    await rest.clock("close", CLOSE, DAYS[0])
    await rest.quiet()
    assert len(await failures(rest)) == 1


async def test_prices_are_answered_at_desk_time(make_rest: Callable[..., Rest], executor: ExecutorProcess):
    rest = make_rest({})
    executor.start()
    await rest.up_to_verdict()
    seen = await rest.ask("rpc.executor.quotes", keys=["A:USD", "A:AUD", "ZZZZ:USD"])
    assert (seen["at"], [(row["symbol"], row["currency"], row["last"]) for row in seen["quotes"]]) == (SLOT, [("A", "USD", "50")])
    past = await rest.ask("rpc.executor.history", symbols=["B", "A", "ZZZZ"], currency="USD", count=5)
    assert past["session"] == DAYS[0]
    assert {symbol: [(bar["date"], bar["close"]) for bar in bars] for symbol, bars in past["bars"].items()} == {
        "A": [("2022-10-03", "100")],
        "B": [("2022-10-03", "20")],
    }
    assert (await rest.ask("rpc.executor.history", symbols=["A"], currency="AUD", count=5))["bars"] == {}


async def test_a_question_that_cannot_be_read_is_answered_with_what_is_wrong(
    make_rest: Callable[..., Rest], executor: ExecutorProcess
):
    rest = make_rest({})
    executor.start()
    for body in (
        {"symbols": ["A"]},
        {"symbols": ["A"], "currency": "USD", "count": 0},
        {"symbols": ["A"], "currency": "usd", "count": 1},
    ):
        assert (await rest.ask("rpc.executor.history", **body))["error"]["code"] == "bad_request"
    many = [f"S{number}" for number in range(100)]
    assert (await rest.ask("rpc.executor.history", symbols=many, currency="USD", count=61))["error"]["code"] == "bad_request"


async def test_a_question_while_the_simulator_is_away_is_answered_as_lost(
    make_rest: Callable[..., Rest], executor: ExecutorProcess, broker: Simulator
):
    rest = make_rest({})
    executor.start()
    await rest.up_to_verdict()
    broker.end(signal.SIGKILL)
    assert (await rest.ask("rpc.executor.quotes", keys=["A:USD"]))["error"]["code"] == "broker_lost"
