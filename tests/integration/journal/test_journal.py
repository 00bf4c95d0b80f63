"""The journal service over a log in memory and a real database file."""

from pathlib import Path

import msgspec
import pytest
from structlog.testing import capture_logs

from services.journal.dump import differences, dump
from services.journal.files import discard
from services.journal.replay import replay
from services.journal.service import Journal
from services.journal.store import Store
from tests.integration.journal.stage import grow, live, memory_log, until
from tests.unit.journal.desk_log import DeskLog, desk_log


@pytest.fixture(scope="module")
def desk() -> DeskLog:
    """Ten sessions of three books."""
    return desk_log(10)


async def undisturbed(desk: DeskLog, directory: Path) -> dict[str, list[tuple[object, ...]]]:
    """The rows that a replay of the whole log gives."""
    await replay(memory_log(desk), directory / "undisturbed.db")
    return dump(directory / "undisturbed.db")


async def test_what_is_appended_is_written_without_being_asked(desk: DeskLog, tmp_path: Path):
    log = memory_log(desk, 100)
    async with live(log, tmp_path) as running:
        grow(log, desk.stored[100:120])

        async def written() -> bool:
            return running.journal.recorder.written == 120

        await until(written, "120 events written")
        assert len(dump(tmp_path / "journal.db")["events"]) == 120


async def test_status_and_health_say_what_is_written_and_what_is_known(desk: DeskLog, tmp_path: Path):
    log = memory_log(desk, 100)
    async with live(log, tmp_path) as running:
        assert await running.written() == 100
        health = msgspec.json.decode(await running.service.health(b""))
        assert (health["service"], health["seq"], health["flushed"], health["ready"]) == ("journal", 100, 100, True)
        grow(log, desk.stored[100:103])
        await running.service.participant.catch_up()
        health = msgspec.json.decode(await running.service.health(b""))
        assert (health["seq"], health["flushed"]) == (103, 100)
        assert await running.written() == 103


async def test_a_crash_between_batches_goes_on_at_the_cursor(desk: DeskLog, tmp_path: Path):
    log = memory_log(desk, 40)
    async with live(log, tmp_path) as running:
        assert await running.written() == 40
        grow(log, desk.stored[40:60])
        await running.service.participant.catch_up()
        assert running.journal.recorder.pending == 20
        await running.crash()
    assert len(dump(tmp_path / "journal.db")["events"]) == 40
    grow(log, desk.stored[60:])
    with capture_logs() as logs:
        async with live(log, tmp_path) as running:
            assert await running.written() == len(desk.stored)
            await running.stop()
    assert [line for line in logs if line["log_level"] != "info"] == []
    assert differences(await undisturbed(desk, tmp_path), dump(tmp_path / "journal.db")) == []


async def test_what_is_pending_is_written_when_the_journal_is_told_to_stop(desk: DeskLog, tmp_path: Path):
    log = memory_log(desk, 40)
    async with live(log, tmp_path) as running:
        grow(log, desk.stored[40:50])
        await running.service.participant.catch_up()
        await running.stop()
    assert len(dump(tmp_path / "journal.db")["events"]) == 50


async def test_a_database_that_was_deleted_is_rebuilt(desk: DeskLog, tmp_path: Path):
    log = memory_log(desk)
    async with live(log, tmp_path) as running:
        await running.stop()
    discard(tmp_path / "journal.db")
    async with live(log, tmp_path) as running:
        assert await running.written() == len(desk.stored)
        await running.stop()
    assert differences(await undisturbed(desk, tmp_path), dump(tmp_path / "journal.db")) == []


async def test_a_database_of_another_log_is_rebuilt_with_a_warning(desk: DeskLog, tmp_path: Path):
    async with live(memory_log(desk_log(3, instance="2-bbbbbbbb")), tmp_path) as running:
        await running.stop()
    with capture_logs() as logs:
        async with live(memory_log(desk), tmp_path) as running:
            await running.stop()
    (warning,) = (line for line in logs if line["log_level"] == "warning")
    assert warning["event"] == "the read models are rebuilt from the log"
    assert "of the log is not the one that the database knows" in warning["reason"]
    assert differences(await undisturbed(desk, tmp_path), dump(tmp_path / "journal.db")) == []


async def test_a_database_that_knows_more_than_the_log_is_rebuilt_with_a_warning(desk: DeskLog, tmp_path: Path):
    async with live(memory_log(desk), tmp_path) as running:
        await running.stop()
    with capture_logs() as logs:
        async with live(memory_log(desk, 100), tmp_path) as running:
            await running.stop()
    (warning,) = (line for line in logs if line["log_level"] == "warning")
    assert warning["reason"] == f"the database knows event {len(desk.stored)}, the log ends at 100"
    assert len(dump(tmp_path / "journal.db")["events"]) == 100


async def test_a_log_that_is_empty_again_empties_the_database(desk: DeskLog, tmp_path: Path):
    async with live(memory_log(desk), tmp_path) as running:
        await running.stop()
    async with live(memory_log(desk, 0), tmp_path) as running:
        assert await running.written() == 0
        await running.stop()
    assert dump(tmp_path / "journal.db")["events"] == []


async def test_a_database_of_another_build_is_rebuilt_with_a_warning(
    desk: DeskLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as older:
        older.setattr("services.journal.store.SCHEMA_VERSION", "0-old")
        Store(tmp_path / "journal.db").close()
    with capture_logs() as logs:
        async with live(memory_log(desk), tmp_path) as running:
            assert await running.written() == len(desk.stored)
            await running.stop()
    assert [line["reason"].startswith("it has schema version 0-old") for line in logs if line["log_level"] == "warning"] == [True]


def test_nothing_is_recorded_before_there_is_a_database():
    with pytest.raises(LookupError, match="before it was prepared"):
        _ = Journal().recorder
