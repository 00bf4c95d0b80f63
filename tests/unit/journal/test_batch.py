"""How changes of consecutive events are gathered."""

from services.journal.batch import Batch
from services.journal.rows import EventRow, FillRow, OrderRow, RunRow
from shared.protocol.events import FillSettled, OrderClosed, RunEnded
from shared.protocol.market import Side
from shared.protocol.money import Exact, Money
from shared.protocol.reasons import OrderEnd, RunStatus
from tests.unit.journal.desk_log import DeskLog, desk_log

AT = "2026-01-05T15:30:00.000000Z"
RUN = "20260105T1030-alpha-1"
ORDER = f"{RUN}-1"


def fill(log: DeskLog, quantity: str, part: int) -> None:
    """A fill of `ORDER`."""
    execution = f"9.{part}"
    data = FillSettled(
        ORDER, execution, "AAA", "USD", Side.BUY, Exact(quantity), Exact(1), Money(Exact(0), "USD"), Exact(1), Exact(-1)
    )
    log.write("executor", "alpha", f"9_{part}", AT, data, run=RUN)


def test_an_event_at_or_before_the_cursor_is_skipped():
    log = desk_log(0)
    batch = Batch(3)
    assert [batch.add(event) for event in log.events] == [False, False, False, True, True, True, True, True]
    assert (batch.cursor, batch.events, batch.sha256) == (8, 5, log.events[-1].sha256)


def test_a_sequence_that_is_no_event_leaves_no_trace():
    events = desk_log(0).events
    batch = Batch(0)
    assert [batch.add(event) for event in (events[0], events[2])] == [True, True]
    assert (batch.after, batch.cursor, batch.events) == (0, 3, 2)


def test_a_row_that_changes_within_its_batch_needs_no_update():
    batch = Batch(0)
    for event in desk_log(1, orders=1).events:
        batch.add(event)
    order, run = batch.living[OrderRow][ORDER], batch.living[RunRow][RUN]
    assert (order["state"], order["filled"], order["ended_as"]) == ("closed", Exact(1), "filled")
    assert (run["stage"], run["status"], run["filled"]) == ("ended", "ok", 1)
    assert batch.changed == {RunRow: {}, OrderRow: {}}
    assert batch.added == {}
    assert len(batch.rows[FillRow]) == 6
    assert len(batch.rows[EventRow]) == batch.events


def test_fills_of_an_order_in_the_database_are_summed_to_be_added():
    log = DeskLog()
    fill(log, "0.1", 1)
    fill(log, "0.00000000000000000000000000002", 2)
    batch = Batch(0)
    for event in log.events:
        batch.add(event)
    assert batch.added == {ORDER: Exact("0.10000000000000000000000000002")}
    assert batch.changed[OrderRow] == {}


def test_the_brokers_own_sum_at_the_end_replaces_what_was_added():
    log = DeskLog()
    fill(log, "1", 1)
    log.write("executor", "alpha", ORDER, AT, OrderClosed(ORDER, OrderEnd.FILLED, Exact(3), ""), run=RUN)
    fill(log, "1", 2)
    batch = Batch(0)
    for event in log.events:
        batch.add(event)
    assert batch.added == {}
    assert batch.changed[OrderRow][ORDER]["filled"] == Exact(4)


def test_changes_of_a_run_in_the_database_are_merged():
    log = DeskLog()
    log.write("agent", "alpha", RUN, AT, RunEnded(RunStatus.OK, "fine"), run=RUN)
    batch = Batch(0)
    batch.add(log.events[0])
    assert batch.changed[RunRow] == {RUN: {"stage": "ended", "status": "ok", "message": "fine", "ended_at": AT}}
