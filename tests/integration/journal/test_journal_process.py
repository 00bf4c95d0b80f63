"""The journal as a real process over a real nats-server."""

import asyncio
import signal
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from services.journal.dump import differences, dump
from services.journal.replay import replay
from shared.bus.jetstream import Connection
from shared.bus.ports import Stored
from tests.integration.journal.stage import Health, Process, Status, asked, until
from tests.unit.journal.desk_log import desk_log, pour

KILLS = 4
MORE = 10


async def written(bus: Connection, seq: int) -> None:
    """Wait until the journal says that it has written everything up to `seq`."""

    async def done() -> bool:
        status = await asked(bus, "rpc.journal.status", Status)
        return status is not None and status.seq >= seq

    await until(done, f"the journal has written {seq}")


async def replayed(bus: Connection, path: Path) -> dict[str, list[tuple[object, ...]]]:
    """The rows that a replay of the real log gives."""
    await replay(bus.log, path)
    return dump(path)


async def test_it_writes_while_the_log_grows_and_ends_cleanly(bus: Connection, process: Process, tmp_path: Path):
    desk, last = desk_log(2, journal=False), len(desk_log(2).stored)
    await pour(bus.log, desk.stored[:30])
    await process.start()
    await written(bus, 30)
    await pour(bus.log, desk.stored[30:])
    await written(bus, last)
    health = await asked(bus, "rpc.journal.health", Health)
    assert health is not None
    assert (health.seq, health.flushed, health.ready) == (last, last, True)
    assert await process.end(signal.SIGTERM) == 0
    assert sorted(path.name for path in process.directory.glob("journal.db*")) == ["journal.db", "journal.db.lock"]
    assert differences(await replayed(bus, tmp_path / "replayed.db"), dump(process.directory / "journal.db")) == []
    assert await bus.log.last_seq() == last


async def test_killed_while_it_writes_it_ends_with_the_same_rows(bus: Connection, process: Process, tmp_path: Path):
    messages = iter(desk_log(60, orders=1, journal=False).stored)
    for _ in range(KILLS):
        await process.start()
        before = await bus.log.last_seq()
        await written(bus, before)
        killed = asyncio.Event()
        growing = asyncio.create_task(grow_until(killed, bus, messages))
        await written(bus, before + 1)
        code = await process.end(signal.SIGKILL)
        at = await bus.log.last_seq()
        killed.set()
        await growing
        after = await bus.log.last_seq()
        print(f"killed when the log ended at {at}, which then went on to {after}")
        assert code == -signal.SIGKILL
        assert before < at < after
    last = await bus.log.last_seq()
    await process.start()
    await written(bus, last)
    assert await process.end(signal.SIGTERM) == 0
    assert differences(await replayed(bus, tmp_path / "replayed.db"), dump(process.directory / "journal.db")) == []


async def grow_until(killed: asyncio.Event, bus: Connection, messages: Iterator[Stored]) -> None:
    """Append until the journal is dead, and some more."""
    for message in messages:
        await pour(bus.log, [message])
        if killed.is_set():
            break
    await pour(bus.log, list(islice(messages, MORE)))


async def test_a_second_journal_on_the_same_database_says_so_and_ends(bus: Connection, process: Process):
    await process.start()
    await written(bus, 0)
    second = Process(process._env["PROPDESK_NATS_URL"], process.directory)
    await second.start()
    async with asyncio.timeout(20):
        assert await second.process.wait() == 1
    assert f"is being written by process {process.process.pid}: stop the desk first" in second.output


async def test_a_database_that_cannot_be_written_is_said_in_one_line(bus: Connection, process: Process):
    process.directory.mkdir()
    (process.directory / "journal.db").mkdir()
    await process.start()
    async with asyncio.timeout(20):
        assert await process.process.wait() == 1
    assert "journal: StoreFailed: cannot open the read models in" in process.output.splitlines()[-1]
