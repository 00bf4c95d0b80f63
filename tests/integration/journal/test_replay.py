"""Rebuilding read models from the log alone, over real files and a log in memory."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from services.journal.dump import differences, dump
from services.journal.lock import DatabaseInUse
from services.journal.replay import replay
from shared.bus.memory import MemoryLog, MemoryReader
from shared.bus.ports import LogBroken, Stored
from shared.ledger.fold import apply
from shared.ledger.hashing import state_hash
from shared.ledger.owed import owed
from shared.ledger.state import State
from tests.integration.journal.stage import grow, live, memory_log, until
from tests.unit.journal.desk_log import DeskLog, desk_log


@pytest.fixture(scope="module")
def desk() -> DeskLog:
    """Thirty sessions of three books."""
    return desk_log(30)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def folded(desk: DeskLog, upto: int | None = None) -> str:
    """The hash of the ledger after folding event by event."""
    state = State()
    for event in desk.events[:upto]:
        state = apply(state, event)
    return state_hash(state)


async def test_replay_gives_the_rows_of_the_live_journal(desk: DeskLog, tmp_path: Path):
    without = desk_log(30, journal=False)
    log = memory_log(without, 50)
    async with live(log, tmp_path / "live") as running:
        for start in range(50, len(without.stored), 333):
            grow(log, without.stored[start : start + 333])
            assert await running.written() <= len(log.stored)

        async def complete() -> bool:
            return await running.written() == len(log.stored) and not owed(running.service.participant.state)

        await until(complete, "the journal has written and hashed everything")
        await running.stop()
    result = await replay(log, tmp_path / "replayed.db")
    assert (result.events, result.last_seq, result.replaced) == (len(desk.stored), len(desk.stored), True)
    assert result.state_hash == folded(desk)
    found = dump(tmp_path / "replayed.db")
    assert differences(dump(tmp_path / "live" / "journal.db"), found) == []
    assert {name: len(rows) for name, rows in found.items()} == {
        "meta": 1,
        "events": len(desk.stored),
        "dropped": 0,
        "books": 3,
        "deposits": 3,
        "policies": 1,
        "operations": 3,
        "reconciliations": 90,
        "desk": 1,
        "runs": 90,
        "proposals": 90,
        "verdicts": 90,
        "decisions": 360,
        "reasons": 180,
        "orders": 270,
        "fills": 540,
        "valuations": 180,
    }


async def test_replay_takes_the_place_of_what_was_there(desk: DeskLog, database: Path):
    await replay(memory_log(desk_log(1, instance="2-bbbbbbbb")), database)
    result = await replay(memory_log(desk), database)
    assert result.last_seq == len(dump(database)["events"]) == len(desk.stored)
    assert sorted(path.name for path in database.parent.iterdir()) == ["journal.db", "journal.db.lock"]


async def test_replay_up_to_a_sequence_folds_and_leaves_the_database_alone(desk: DeskLog, database: Path):
    await replay(memory_log(desk), database)
    before = dump(database)
    result = await replay(memory_log(desk), database, to=100)
    assert (result.events, result.last_seq, result.replaced) == (100, 100, False)
    assert result.state_hash == folded(desk, 100) != folded(desk)
    assert differences(before, dump(database)) == []


@pytest.mark.parametrize("to", [-1, 0, 9])
async def test_a_sequence_that_is_not_in_the_log_is_refused(to: int):
    with pytest.raises(ValueError, match=f"sequence {to} is not in the log, which has 1 to 8"):
        await replay(memory_log(desk_log(0)), None, to=to)


async def test_without_a_database_only_the_ledger_is_folded(desk: DeskLog):
    result = await replay(memory_log(desk), None)
    assert (result.state_hash, result.replaced) == (folded(desk), False)


async def test_an_empty_log_gives_empty_read_models(database: Path):
    result = await replay(MemoryLog(), database)
    assert (result.events, result.last_seq, result.state_hash) == (0, 0, state_hash(State()))
    assert dump(database)["events"] == []


async def test_what_is_appended_meanwhile_is_left_out(desk: DeskLog, database: Path):
    log = memory_log(desk, 1000)

    def append(_done: int, _all: int) -> None:
        log.stored[:] = desk.stored

    result = await replay(log, database, append)
    assert result.last_seq == 1000
    assert len(dump(database)["events"]) == 1000
    assert result.state_hash == folded(desk, 1000)


class GrowingLog(MemoryLog):
    """A log that has grown by the time it is read."""

    async def last_seq(self) -> int:
        """What it was."""
        return 900


async def test_a_journal_that_appends_while_the_log_is_replayed_beside_it_is_no_rival(desk: DeskLog):
    log = GrowingLog()
    log.stored = desk.stored
    assert any(message.subject.startswith("ev.journal.") for message in desk.stored[900:1000])
    result = await replay(log, None)
    assert (result.last_seq, result.state_hash) == (900, folded(desk, 900))


async def test_progress_ends_with_everything_done(desk: DeskLog):
    told: list[tuple[int, int]] = []
    await replay(memory_log(desk), None, lambda done, total: told.append((done, total)))
    assert told == [(1000, len(desk.stored)), (2000, len(desk.stored)), (len(desk.stored), len(desk.stored))]


class BreakingLog(MemoryLog):
    """A log whose reader fails on the way."""

    def read(self, after: int) -> MemoryReader:
        """Batches up to 1,500."""
        return BreakingReader(self, after)


class BreakingReader(MemoryReader):
    """Ends with an error at 1,500."""

    def take(self) -> list[Stored]:
        """The next batch."""
        if self._cursor >= 1000:
            raise LogBroken("sequences 1001 to 1500 are missing from the log")
        return super().take()


async def test_a_replay_that_fails_leaves_the_old_database_whole(desk: DeskLog, database: Path):
    await replay(memory_log(desk, 700), database)
    before = dump(database)
    log = BreakingLog()
    log.stored = desk.stored
    with pytest.raises(LogBroken, match="1001"):
        await replay(log, database)
    assert differences(before, dump(database)) == []
    assert sorted(path.name for path in database.parent.iterdir()) == ["journal.db", "journal.db.lock"]


async def test_what_a_killed_replay_left_behind_is_removed(desk: DeskLog, database: Path):
    for name in ("journal.db.new", "journal.db.new-journal", "journal.db.new-wal"):
        database.with_name(name).write_bytes(b"half")
    await replay(memory_log(desk), database)
    assert sorted(path.name for path in database.parent.iterdir()) == ["journal.db", "journal.db.lock"]


async def test_a_database_that_a_journal_writes_is_not_replaced(desk: DeskLog, tmp_path: Path):
    async with live(memory_log(desk), tmp_path):
        with pytest.raises(DatabaseInUse, match="stop the desk first"):
            await replay(memory_log(desk), tmp_path / "journal.db")


def crashed(database: Path) -> None:
    """Leave a write-ahead log with changes that are not in the database file, as a killed journal does."""
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("UPDATE events SET author = 'nobody'")
    connection.commit()
    files = {path: path.read_bytes() for path in database.parent.iterdir() if path.name.startswith("journal.db")}
    connection.close()
    for path, content in files.items():
        path.write_bytes(content)


async def test_the_write_ahead_log_of_a_killed_journal_does_not_reach_the_new_database(desk: DeskLog, database: Path):
    await replay(memory_log(desk), database)
    before = dump(database)
    crashed(database)
    assert database.with_name("journal.db-wal").stat().st_size > 0
    assert dump(database)["events"][0][3] == "nobody"
    await replay(memory_log(desk), database)
    assert differences(before, dump(database)) == []


async def test_a_reader_of_the_old_database_keeps_what_it_reads_and_does_not_reach_the_new_one(desk: DeskLog, database: Path):
    await replay(memory_log(desk, 500), database)
    crashed(database)
    reader = sqlite3.connect(database)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM events").fetchone() == (500,)
    await replay(memory_log(desk), database)
    assert reader.execute("SELECT count(*), max(author) FROM events").fetchone() == (500, "nobody")
    reader.close()
    await replay(memory_log(desk), database.with_name("other.db"))
    assert differences(dump(database.with_name("other.db")), dump(database)) == []


def changed(message: Stored, change: Callable[[bytes], bytes]) -> Stored:
    """A stored message with another payload."""
    return msgspec.structs.replace(message, payload=change(message.payload))


async def test_a_message_that_is_no_event_is_passed_over_as_the_services_do(tmp_path: Path):
    log = memory_log(desk_log(1))
    log.stored.append(Stored(len(log.stored) + 1, "ev.gate.alpha.Verdict", "x", b"not an event"))
    result = await replay(log, tmp_path / "journal.db")
    assert result.last_seq == len(log.stored)
    assert len(dump(tmp_path / "journal.db")["events"]) == len(log.stored) - 1
    async with live(log, tmp_path / "live") as running:
        assert await running.written() == len(log.stored)
        await running.stop()
    assert differences(dump(tmp_path / "live" / "journal.db"), dump(tmp_path / "journal.db")) == []


async def test_an_event_whose_data_fits_no_type_is_named_as_dropped_and_no_event(tmp_path: Path):
    desk = desk_log(1, orders=1)
    proposals = [message for message in desk.stored if message.subject == "ev.agent.breaker.ProposalMade"]
    broken = changed(proposals[0], lambda payload: payload.replace(b'"summary":"buy"', b'"summary":12345'))
    log = MemoryLog()
    log.stored = [*desk.stored[: broken.seq - 1], broken]
    await replay(log, tmp_path / "journal.db")
    found = dump(tmp_path / "journal.db")
    assert len(found["events"]) == broken.seq - 1
    assert [row[:3] for row in found["dropped"]] == [(broken.seq, broken.subject, broken.msg_id)]
    assert len(found["proposals"]) == 2
