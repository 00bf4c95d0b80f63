"""What the read models answer, over a real file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.journal.batch import Batch
from services.journal.read import Blocked, Counts, ReadModels, ReadModelsUnavailable
from services.journal.store import Store
from shared.protocol.events import OrderWithheld, RunStarted
from shared.protocol.money import Exact
from shared.protocol.reasons import Withheld
from tests.unit.journal.desk_log import BOOKS, NAMES, DeskLog, desk_log, moment, verdict

RUN = "20260105T1030-alpha-1"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def write(database: Path, log: DeskLog) -> None:
    """Everything in the log."""
    batch = Batch(0)
    for event in log.events:
        batch.add(event)
    with Store(database) as store:
        store.write(batch)


@pytest.fixture
def models(database: Path) -> Iterator[ReadModels]:
    """Two sessions of three books, three orders approved and one blocked in each run."""
    write(database, desk_log(2))
    with ReadModels(database) as found:
        yield found


def test_orders_are_counted_per_book(models: ReadModels):
    assert models.counts() == dict.fromkeys(BOOKS, Counts(proposed=8, approved=6, blocked=2, withheld=0, filled=6))


def test_a_withheld_order_stays_approved_and_is_not_filled(database: Path):
    log = desk_log(0)
    log.write("agent", "alpha", RUN, moment(0, "15:30"), RunStarted("s", moment(0, "15:30"), "2026-01-05", ()), run=RUN)
    log.write("gate", "alpha", RUN, moment(0, "15:30"), verdict(RUN, ["AAA"], moment(0, "15:30")), run=RUN)
    log.write("executor", "alpha", f"{RUN}-1", moment(0, "15:30"), OrderWithheld(f"{RUN}-1", Withheld.STALE, "old"), run=RUN)
    write(database, log)
    with ReadModels(database) as models:
        assert models.counts()["alpha"] == Counts(proposed=2, approved=1, blocked=1, withheld=1, filled=0)
        assert models.counts()["beta"] == Counts()
        (order,) = models.orders()
        assert (order.state, order.withheld, order.message, order.ended_as) == ("withheld", "stale", "old", None)


def test_each_rule_is_counted_once_per_order_it_blocks(models: ReadModels):
    assert models.blocked_by("beta") == (Blocked("beta", "instrument", 2), Blocked("beta", "quote", 2))
    assert len(models.blocked_by()) == 2 * len(BOOKS)


def test_rows_come_newest_first_and_typed(models: ReadModels):
    runs = models.runs("alpha")
    assert [(run.id, run.status, run.stage) for run in runs] == [("20260106T1030-alpha-1", "ok", "ended"), (RUN, "ok", "ended")]
    assert [row.purpose for row in models.valuations("alpha")] == ["close", "run"] * 2
    assert [row.value for row in models.valuations("alpha", "close")] == [Exact(10_001), Exact(10_000)]
    assert isinstance(models.valuations("alpha")[0].cash, Exact)
    assert len(models.runs(limit=2)) == 2


def test_an_order_its_fills_and_its_decision_belong_together(models: ReadModels):
    orders = models.orders(run=RUN)
    assert [order.symbol for order in orders] == list(NAMES[:3])
    assert {(order.state, order.ended_as, order.filled) for order in orders} == {("closed", "filled", Exact(1))}
    assert [fill.quantity for fill in models.fills(order_id=f"{RUN}-2")] == [Exact("0.75"), Exact("0.25")]
    assert [(row.order_index, row.approved) for row in models.decisions(run=RUN)] == [(1, True), (2, True), (3, True), (4, False)]
    assert [(row.order_index, row.rule) for row in models.reasons(RUN)] == [(4, "instrument"), (4, "quote")]


def test_names_that_look_like_something_else_come_back_as_text(models: ReadModels):
    assert {order.symbol for order in models.orders()} >= {"NA", "TRUE", "NULL"}


def test_books_and_deposits(models: ReadModels):
    assert [book.book for book in models.books()] == list(BOOKS)
    assert models.deposited("alpha") == Exact(10_000)
    assert models.deposited("nobody") == Exact(0)


def test_the_index_of_the_log(models: ReadModels):
    assert models.cursor() == models.events(limit=1)[0].seq
    assert {event.run for event in models.events(RUN)} == {RUN}


def test_reading_sees_what_is_written_meanwhile(database: Path):
    log = desk_log(1)
    events = log.events
    with Store(database) as store, ReadModels(database) as models:
        batch = Batch(0)
        for event in events:
            batch.add(event)
        assert models.cursor() == 0
        store.write(batch)
        assert models.cursor() == len(events)


def test_an_absent_database_says_what_to_do(database: Path):
    with pytest.raises(ReadModelsUnavailable, match=r"no read models at .*journal\.db: start a run, or rebuild"):
        ReadModels(database)
    assert not database.exists()


def test_a_database_of_another_build_says_what_to_do(database: Path, monkeypatch: pytest.MonkeyPatch):
    write(database, desk_log(0))
    monkeypatch.setattr("services.journal.read.SCHEMA_VERSION", "9-x")
    with pytest.raises(ReadModelsUnavailable, match="this build reads 9-x: rebuild it with `propdesk replay`"):
        ReadModels(database)


@pytest.mark.parametrize("content", [b"", b"not a database" * 100])
def test_what_is_no_database_says_what_to_do(database: Path, content: bytes):
    database.write_bytes(content)
    with pytest.raises(ReadModelsUnavailable, match="rebuild it with `propdesk replay`"):
        ReadModels(database)
    assert database.read_bytes() == content
