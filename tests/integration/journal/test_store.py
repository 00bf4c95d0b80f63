"""The database file: whole batches, one writer, rebuilt when it does not fit."""

import sqlite3
from pathlib import Path

import pytest

from services.journal import schema
from services.journal.batch import Batch
from services.journal.dump import differences, dump
from services.journal.lock import DatabaseInUse
from services.journal.read import ReadModels
from services.journal.store import Store, StoreFailed
from shared.protocol.envelope import Event
from tests.unit.journal.desk_log import desk_log


def batch(events: list[Event], after: int = 0) -> Batch:
    """All these events, gathered behind `after`."""
    found = Batch(after)
    for event in events:
        found.add(event)
    return found


def fill(path: Path, events: list[Event], size: int) -> None:
    """Write the events in batches of this size, each by a new process as it were."""
    for start in range(0, len(events), size):
        with Store(path) as store:
            store.write(batch(events[start : start + size], store.cursor))


@pytest.mark.parametrize("size", [1, 7, 100])
def test_rows_do_not_depend_on_where_batches_end(tmp_path: Path, size: int):
    events = desk_log(1, orders=1).events
    fill(tmp_path / "whole.db", events, len(events))
    fill(tmp_path / "parts.db", events, size)
    assert differences(dump(tmp_path / "whole.db"), dump(tmp_path / "parts.db")) == []


def test_a_batch_and_its_cursor_are_written_together_or_not_at_all(tmp_path: Path):
    events = desk_log(1).events
    path = tmp_path / "journal.db"
    fill(path, events[:20], 20)
    before = dump(path)
    other = sqlite3.connect(path)
    other.execute(
        f"CREATE TRIGGER full BEFORE UPDATE OF cursor ON meta WHEN NEW.cursor >= {len(events)} "
        "BEGIN SELECT RAISE(ABORT, 'disk full'); END"
    )
    other.commit()
    with Store(path) as store:
        rest = batch(events, store.cursor)
        with pytest.raises(StoreFailed, match=r"cannot write the read models in .*journal\.db: disk full"):
            store.write(rest)
        assert store.cursor == 20
        assert dump(path) == before
        other.execute("DROP TRIGGER full")
        other.commit()
        store.write(rest)
        assert store.cursor == len(events)
    other.close()
    fill(tmp_path / "undisturbed.db", events, len(events))
    assert differences(dump(tmp_path / "undisturbed.db"), dump(path)) == []


def test_a_batch_that_does_not_follow_the_cursor_is_refused(tmp_path: Path):
    events = desk_log(0).events
    with Store(tmp_path / "journal.db") as store, pytest.raises(ValueError, match="a batch behind 3 cannot follow 0"):
        store.write(batch(events, after=3))


def test_the_cursor_survives(tmp_path: Path):
    events = desk_log(0).events
    fill(tmp_path / "journal.db", events, 3)
    with Store(tmp_path / "journal.db") as store:
        assert (store.cursor, store.sha256, store.rebuilt) == (len(events), events[-1].sha256, None)


def test_the_file_is_a_write_ahead_log_that_readers_can_use_while_it_is_written(tmp_path: Path):
    with Store(tmp_path / "journal.db") as store:
        reader = sqlite3.connect(tmp_path / "journal.db")
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM events").fetchone() == (0,)
        store.write(batch(desk_log(0).events))
        assert reader.execute("SELECT count(*) FROM events").fetchone() == (0,)
        reader.rollback()
        assert reader.execute("SELECT count(*) FROM events").fetchone() == (8,)
        assert reader.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        reader.close()


def test_a_closed_database_is_a_single_file_that_is_read_without_writing_beside_it(tmp_path: Path):
    fill(tmp_path / "journal.db", desk_log(0).events, 100)
    with ReadModels(tmp_path / "journal.db") as models:
        assert models.cursor() == 8
    assert sorted(path.name for path in tmp_path.iterdir()) == ["journal.db", "journal.db.lock"]


def test_closing_does_not_wait_for_a_reader(tmp_path: Path):
    with Store(tmp_path / "journal.db") as store:
        store.write(batch(desk_log(0).events))
        reader = sqlite3.connect(tmp_path / "journal.db")
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM events").fetchone()
    assert reader.execute("SELECT count(*) FROM events").fetchone() == (8,)
    reader.close()
    assert len(dump(tmp_path / "journal.db")["events"]) == 8


def test_a_database_of_another_schema_version_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "journal.db"
    fill(path, desk_log(0).events, 100)
    monkeypatch.setattr("services.journal.store.SCHEMA_VERSION", "2-abc")
    with Store(path) as store:
        assert (store.cursor, store.rebuilt) == (0, f"it has schema version {schema.SCHEMA_VERSION}, this build has 2-abc")
    assert dump(path)["events"] == []


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"", b"SQLite format 3\x00" + b"\xff" * 4000])
def test_what_is_no_database_is_replaced(tmp_path: Path, content: bytes):
    path = tmp_path / "journal.db"
    path.write_bytes(content)
    with Store(path) as store:
        assert store.cursor == 0
        assert store.rebuilt is not None
        store.write(batch(desk_log(0).events))
    assert len(dump(path)["events"]) == 8


def test_a_database_without_read_models_is_replaced(tmp_path: Path):
    other = sqlite3.connect(tmp_path / "journal.db")
    other.execute("CREATE TABLE mine (x)")
    other.close()
    with Store(tmp_path / "journal.db") as store:
        assert store.rebuilt == "it holds no read models"
    assert "mine" not in dump(tmp_path / "journal.db")


def test_two_writers_of_one_file_are_refused(tmp_path: Path):
    with Store(tmp_path / "journal.db"), pytest.raises(DatabaseInUse, match=r"is being written by process \d+"):
        Store(tmp_path / "journal.db")
    Store(tmp_path / "journal.db").close()


def test_a_directory_that_cannot_be_written_is_said_in_one_line(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreFailed, match="cannot open the read models in"):
        Store(tmp_path / "file" / "journal.db")


def test_a_path_with_odd_characters_works(tmp_path: Path):
    path = tmp_path / "a b?c#d%20é" / "journal.db"
    fill(path, desk_log(0).events, 100)
    assert len(dump(path)["events"]) == 8
