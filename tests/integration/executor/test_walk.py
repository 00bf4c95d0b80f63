"""Two sessions with a real simulator and a real server: what the executor writes, and when."""

from collections.abc import Callable

from shared.ledger.hashing import state_hash
from shared.protocol.events import (
    AccountReconciled,
    FillSettled,
    MarketObserved,
    OrderClosed,
    OrderPlaced,
    OrderWithheld,
    RunSettled,
    StateHashed,
)
from shared.protocol.money import Exact
from shared.protocol.reasons import OrderEnd, Withheld
from tests.integration.executor.process import ExecutorProcess
from tests.integration.executor.rest import NEXT_RUN, RUN, Rest

SCRIPT = {
    # At the slot A is at 49.99/50.01, V at 9.99/10.01. B has closes only, so its orders rest until the close.
    RUN: (("A", "BUY", "40", "51"), ("B", "BUY", "50", "30"), ("V", "BUY", "150", "10.5"), ("B", "BUY", "10", "19.555")),
    NEXT_RUN: (("A", "BUY", "1", "51.02"), ("A", "SELL", "40", "50"), ("B", "BUY", "500", "30")),
}


def told(events, author: str = "executor") -> list[tuple[str, str]]:
    """Type and what it is about of everything that one author wrote."""
    return [(event.type, event.id.split(":")[2]) for event in events if event.author == author]


async def test_orders_fill_at_once_rest_fill_in_part_and_expire(make_rest: Callable[..., Rest], executor: ExecutorProcess):
    rest = make_rest(SCRIPT)
    executor.start()
    state = await rest.play()
    events = await rest.events()
    closed = {e.expect(OrderClosed).order: e.expect(OrderClosed) for e in events if e.type == "OrderClosed"}
    fills = [e.expect(FillSettled) for e in events if e.type == "FillSettled"]
    placed = {e.expect(OrderPlaced).order: e.expect(OrderPlaced).status for e in events if e.type == "OrderPlaced"}

    assert placed[f"{RUN}-1"] == "done"
    assert (placed[f"{RUN}-2"], placed[f"{RUN}-3"], placed[f"{RUN}-4"]) == ("working", "working", "working")
    assert [(f.order, str(f.quantity), str(f.price), str(f.cash_effect)) for f in fills] == [
        (f"{RUN}-1", "40", "50.01", "-2001.4"),
        (f"{RUN}-3", "100", "10.01", "-1002"),
        (f"{RUN}-2", "50", "19.555", "-978.75"),
        (f"{NEXT_RUN}-2", "40", "50.98", "2038.2"),
        (f"{NEXT_RUN}-1", "1", "51.02", "-51.5302"),
    ]
    assert (closed[f"{RUN}-2"].end, closed[f"{RUN}-2"].filled) == (OrderEnd.FILLED, Exact(50))
    assert (closed[f"{RUN}-3"].end, closed[f"{RUN}-3"].filled) == (OrderEnd.EXPIRED, Exact(100))
    assert (closed[f"{RUN}-4"].end, closed[f"{RUN}-4"].filled) == (OrderEnd.EXPIRED, Exact(0))
    # 10,000 − 2,001.4 − 1,002 − 978.75 + 2,038.2 = 8,056.05 does not cover 500 × 30 + 2.5; at the close 51.5302 go as well
    withheld = [e.expect(OrderWithheld) for e in events if e.type == "OrderWithheld"]
    assert [(w.order, w.reason) for w in withheld] == [(f"{NEXT_RUN}-3", Withheld.UNFUNDED)]
    assert state.books["eq"].cash == Exact("8004.5198")
    assert [e.expect(RunSettled) for e in events if e.type == "RunSettled"] == [RunSettled(0, 3, 1), RunSettled(1, 2, 0)]


async def test_what_the_executor_writes_stands_in_the_order_of_the_walk(
    make_rest: Callable[..., Rest], executor: ExecutorProcess
):
    rest = make_rest({RUN: SCRIPT[RUN][:3]})
    executor.start()
    await rest.play()
    first_session = told(await rest.events())[:16]
    assert first_session == [
        ("AccountReconciled", RUN),
        ("MarketObserved", RUN),
        ("MarketObserved", RUN),
        ("OrderIntended", f"{RUN}-1"),
        ("OrderPlaced", f"{RUN}-1"),
        ("FillSettled", "00000001_01_01"),
        ("OrderClosed", f"{RUN}-1"),
        ("OrderIntended", f"{RUN}-2"),
        ("OrderPlaced", f"{RUN}-2"),
        ("OrderIntended", f"{RUN}-3"),
        ("FillSettled", "00000002_01_01"),
        ("OrderPlaced", f"{RUN}-3"),
        ("FillSettled", "00000003_01_01"),
        ("OrderClosed", f"{RUN}-2"),
        ("OrderClosed", f"{RUN}-3"),
        ("RunSettled", RUN),
    ]


async def test_a_session_without_anything_held_is_observed_and_hashed_all_the_same(
    make_rest: Callable[..., Rest], executor: ExecutorProcess
):
    rest = make_rest({}, "eq", "mo")
    executor.start()
    state = await rest.play()
    events = await rest.events()
    watches = [e for e in events if e.type == "MarketObserved" and e.run is None]
    assert [e.id for e in watches] == [
        "executor:MarketObserved:_desk-20221004T200000Z",
        "executor:MarketObserved:_desk-20221005T200000Z",
    ]
    assert [e.expect(MarketObserved).quotes for e in watches] == [(), ()]
    hashes = [e for e in events if e.type == "StateHashed" and e.author == "executor"]
    assert [e.expect(StateHashed).session for e in hashes] == ["2022-10-04", "2022-10-05"]
    assert hashes[-1].expect(StateHashed).state_hash == state_hash(state)


async def test_before_each_run_the_account_is_reconciled_with_the_cash_of_all_fills(
    make_rest: Callable[..., Rest], executor: ExecutorProcess
):
    rest = make_rest({RUN: SCRIPT[RUN][:1]})
    executor.start()
    await rest.play()
    found = [e.expect(AccountReconciled) for e in await rest.events() if e.type == "AccountReconciled"]
    assert [(row.account, str(row.cash["USD"])) for row in found] == [("DU1234567", "1000000"), ("DU1234567", "997998.6")]
    assert found[-1].positions == {"A:USD": Exact(40)}


async def test_observations_hold_only_what_the_broker_answered(make_rest: Callable[..., Rest], executor: ExecutorProcess):
    rest = make_rest({RUN: (("ZZZZ", "BUY", "1", "10"), ("A", "BUY", "1", "40"))})
    executor.start()
    await rest.play()
    verdicts = [e.expect(MarketObserved) for e in await rest.events() if e.type == "MarketObserved" and e.id.endswith(":2")]
    assert [quote.symbol for quote in verdicts[0].quotes] == ["A"]
    assert verdicts[0].ticks == {"A:USD": Exact("0.01")}
    assert verdicts[0].sessions["SMART"].open
