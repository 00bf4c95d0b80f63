"""What is owed, step by step through one session."""

from collections.abc import Callable

from shared.ledger.owed import is_quiet, next_of, owed
from shared.protocol.events import (
    AccountReconciled,
    CancelOrdered,
    MarketObserved,
    OrderClosed,
    OrderIntended,
    OrderPlaced,
    ProposalMade,
    ReconciliationFailed,
    RunCleared,
    RunEnded,
    RunSettled,
    RunStopped,
    SourceFailed,
    StateHashed,
)
from shared.protocol.ids import DESK_BOOK
from shared.protocol.market import Side
from shared.protocol.money import Exact
from shared.protocol.reasons import OrderEnd, RunStatus, SourceFault, StopReason
from tests.support.scribe import CLOSE, OPEN, SESSION, SLOT, Scribe

RUN = "20221003T1030-eq-1"


def what(scribe: Scribe) -> list[tuple[str, str, str]]:
    return [(item.author, item.type, item.about) for item in owed(scribe.state)]


def slot(*books: str) -> Scribe:
    scribe = Scribe().open_desk(*books)
    scribe.clock("slot", SLOT, due=books)
    return scribe


def observe(scribe: Scribe, purpose: str, run: str | None = RUN, k: int = 1) -> None:
    book = run.split("-")[1] if run else DESK_BOOK
    scribe.write("executor", MarketObserved(purpose, (), {}, {}, {}), run or "step", book=book, run=run, k=k)


def reconcile(scribe: Scribe) -> None:
    scribe.write("executor", AccountReconciled("DU1", {}, {}, ()), RUN, book="eq", run=RUN)


def to_verdict(scribe: Scribe, *orders: tuple[str, Side, str, str]) -> tuple[str, ...]:
    scribe.start_run("eq")
    reconcile(scribe)
    observe(scribe, "run")
    scribe.value("eq", "10000", run=RUN)
    scribe.write("gate", RunCleared(Exact(10000)), RUN, book="eq", run=RUN)
    scribe.write("agent", ProposalMade("scripted", (), "", StopReason.SUBMITTED), RUN, book="eq", run=RUN)
    observe(scribe, "verdict", k=2)
    return scribe.approve(RUN, *orders)


def place(scribe: Scribe, order: str, status: str = "working") -> None:
    data = OrderIntended(order, "AAA", "USD", "SMART", Side.BUY, Exact(1), Exact(1), order)
    scribe.write("executor", data, order, book="eq", run=RUN)
    scribe.write("executor", OrderPlaced(order, "1", status), order, book="eq", run=RUN)


def test_nothing_is_owed_before_the_first_clock_event() -> None:
    assert owed(Scribe().state) == ()


def test_the_opening_step_owes_policy_and_books_each_only_if_absent() -> None:
    scribe = Scribe().open_desk("eq")
    assert owed(scribe.state) == ()
    args = scribe.state.args
    fresh = Scribe()
    fresh.clock("open", OPEN, args=args)
    assert what(fresh) == [("desk", "PolicyAdopted", "_desk"), ("desk", "BookOpened", "eq"), ("desk", "CashDeposited", "eq")]


def test_a_run_owes_one_event_after_the_other() -> None:
    scribe = slot("eq")
    steps: list[tuple[tuple[str, str, str], Callable[[], object]]] = [
        (("agent", "RunStarted", RUN), lambda: scribe.start_run("eq")),
        (
            ("executor", "AccountReconciled", RUN),
            lambda: scribe.write("executor", AccountReconciled("D", {}, {}, ()), RUN, book="eq", run=RUN),
        ),
        (("executor", "MarketObserved", RUN), lambda: observe(scribe, "run")),
        (("gate", "BookValued", RUN), lambda: scribe.value("eq", "10000", run=RUN)),
        (("gate", "RunCleared", RUN), lambda: scribe.write("gate", RunCleared(None), RUN, book="eq", run=RUN)),
        (
            ("agent", "ProposalMade", RUN),
            lambda: scribe.write("agent", ProposalMade("s", (), "", StopReason.HELD), RUN, book="eq", run=RUN),
        ),
        (("executor", "MarketObserved", RUN), lambda: observe(scribe, "verdict", k=2)),
        (("gate", "Verdict", RUN), lambda: scribe.approve(RUN)),
        (("executor", "RunSettled", RUN), lambda: scribe.write("executor", RunSettled(0, 0, 0), RUN, book="eq", run=RUN)),
        (("agent", "RunEnded", RUN), lambda: scribe.write("agent", RunEnded(RunStatus.OK, ""), RUN, book="eq", run=RUN)),
    ]
    for expected, act in steps:
        assert what(scribe) == [expected]
        act()
    assert owed(scribe.state) == ()


def test_after_a_stop_or_a_fault_only_the_end_follows() -> None:
    stopped, failed = slot("eq"), slot("eq")
    stopped.start_run("eq")
    stopped.write("gate", RunStopped(RunStatus.HALTED, ""), RUN, book="eq", run=RUN)
    failed.start_run("eq")
    failed.write("agent", SourceFailed(SourceFault.CRASHED, ""), RUN, book="eq", run=RUN)
    assert what(stopped) == what(failed) == [("agent", "RunEnded", RUN)]


def test_a_slot_is_quiet_when_the_only_thing_owed_is_the_end_of_a_resting_order() -> None:
    scribe = slot("eq")
    sell, buy = to_verdict(scribe, ("AAA", Side.BUY, "1", "10"), ("BBB", Side.SELL, "1", "10"))[::-1]
    assert what(scribe) == [("executor", "OrderIntended", sell), ("executor", "OrderIntended", buy)]

    place(scribe, sell)
    assert not is_quiet(owed(scribe.state))
    place(scribe, buy)
    assert is_quiet(owed(scribe.state))
    assert next_of(owed(scribe.state), "executor") is None


def test_an_order_that_filled_at_once_does_not_rest() -> None:
    scribe = slot("eq")
    (order,) = to_verdict(scribe, ("AAA", Side.BUY, "1", "10"))
    place(scribe, order, "done")
    assert what(scribe) == [("executor", "OrderClosed", order)]
    assert not is_quiet(owed(scribe.state))


def test_a_cancelled_order_stops_resting() -> None:
    scribe = slot("eq")
    (order,) = to_verdict(scribe, ("AAA", Side.BUY, "1", "10"))
    place(scribe, order)
    scribe.write("desk", CancelOrdered(order, "test"), "request-1")
    item = next_of(owed(scribe.state), "executor")
    assert item is not None
    assert (item.type, item.about) == ("OrderClosed", order)


def test_the_next_book_starts_when_the_one_before_has_its_orders_at_the_broker() -> None:
    scribe = slot("eq", "mo")
    (order,) = to_verdict(scribe, ("AAA", Side.BUY, "1", "10"))
    start = ("agent", "RunStarted", "20221003T1030-mo-1")
    assert start not in what(scribe)
    place(scribe, order)
    assert start in what(scribe)
    assert not is_quiet(owed(scribe.state))


def test_the_close_step_ends_orders_then_runs_then_observes_values_and_hashes() -> None:
    scribe = slot("eq")
    (order,) = to_verdict(scribe, ("AAA", Side.BUY, "1", "10"))
    place(scribe, order)
    scribe.clock("close", CLOSE)
    assert [item.resting for item in owed(scribe.state)] == [False]
    assert what(scribe) == [("executor", "OrderClosed", order)]

    scribe.write("executor", OrderClosed(order, OrderEnd.EXPIRED, Exact(0), ""), order, book="eq", run=RUN)
    scribe.write("executor", RunSettled(0, 0, 1), RUN, book="eq", run=RUN)
    scribe.write("agent", RunEnded(RunStatus.OK, ""), RUN, book="eq", run=RUN)
    assert what(scribe) == [("executor", "MarketObserved", "_desk-20221003T200000Z")]
    observe(scribe, "watch", run=None)
    assert what(scribe) == [("gate", "BookValued", "eq-20221003T200000Z")]
    scribe.value("eq", "10000")
    assert what(scribe) == [("gate", "StateHashed", SESSION), ("executor", "StateHashed", SESSION)]
    for author in ("gate", "executor"):
        assert not is_quiet(owed(scribe.state))
        scribe.write(author, StateHashed(SESSION, "0"), SESSION)
    assert what(scribe) == [("journal", "StateHashed", SESSION)]
    assert is_quiet(owed(scribe.state))
    scribe.write("journal", StateHashed(SESSION, "0"), SESSION)
    assert owed(scribe.state) == ()


def test_a_lost_log_stops_everything() -> None:
    scribe = slot("eq")
    scribe.write("executor", ReconciliationFailed(None, (), final=True), "_desk-x")
    assert owed(scribe.state) == ()
    assert scribe.state.problem is not None
