"""The journal over a log in memory in this process, and as a real process over a real log."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TypeVar, cast

import msgspec
import pytest

from services.journal.service import Journal
from services.journal.settings import JournalSettings
from shared.bus.jetstream import Connection
from shared.bus.memory import MemoryLog, MemoryRpc
from shared.bus.participant import Participant
from shared.bus.ports import BusError, Stored
from shared.bus.service import Service
from shared.ledger.state import State
from tests.unit.journal.desk_log import DeskLog

WAIT_S = 20.0
POLL_S = 0.02
A = TypeVar("A")
ROOT = Path(__file__).parents[3]


class Status(msgspec.Struct):
    """The answer of `rpc.journal.status`."""

    seq: int
    folded: int


class Health(msgspec.Struct):
    """The answer of `rpc.journal.health`."""

    service: str
    instance: str
    pid: int
    seq: int
    ready: bool
    flushed: int | None = None


async def until(condition: Callable[[], Awaitable[bool]], what: str) -> None:
    """Wait until `condition` holds; fails after `WAIT_S`."""
    try:
        async with asyncio.timeout(WAIT_S):
            while not await condition():  # noqa: ASYNC110 - what is waited for is in another process
                await asyncio.sleep(POLL_S)
    except TimeoutError:
        pytest.fail(f"not within {WAIT_S} s: {what}")


def memory_log(desk: DeskLog, upto: int | None = None) -> MemoryLog:
    """A log in memory that holds what the desk wrote, up to a sequence."""
    log = MemoryLog()
    log.stored = desk.stored[:upto]
    log.truncate(len(log.stored))
    return log


def grow(log: MemoryLog, messages: list[Stored]) -> None:
    """Append messages that the desk wrote, behind whatever the journal has appended itself."""
    for message in messages:
        log.stored.append(msgspec.structs.replace(message, seq=len(log.stored) + 1))
    log.truncate(len(log.stored))
    log.wake()


@dataclass
class Live:
    """A running journal in this process."""

    journal: Journal
    service: Service[JournalSettings]
    work: asyncio.Task[None]

    async def stop(self) -> None:
        """As after SIGTERM."""
        self.service.stop()
        await self.work

    async def crash(self) -> None:
        """End at once; what was not written is forgotten."""
        self.work.cancel()
        await asyncio.wait({self.work})

    async def written(self) -> int:
        """What it says on its status."""
        answer = await self.service.rpc.request("rpc.journal.status", b"", WAIT_S)
        return msgspec.json.decode(answer, type=Status).seq


@asynccontextmanager
async def live(log: MemoryLog, directory: Path) -> AsyncIterator[Live]:
    """The journal on a log in memory, folded to its end."""
    settings = JournalSettings.model_validate({"nats_url": "none", "data_dir": directory})
    rpc = MemoryRpc()
    journal = Journal()
    participant = Participant(
        log,
        rpc,
        author="journal",
        instance="1-ffffffff",
        desk="desk",
        state=State(),
        apply=journal.apply,
        on_drop=journal.dropped,
    )
    connection = cast("Connection", SimpleNamespace(log=log, rpc=rpc))
    service = Service("journal", settings, connection, participant)
    await journal.prepare(service)
    await participant.start()
    work = asyncio.create_task(journal.serve(service))
    await asyncio.sleep(0)
    try:
        yield Live(journal, service, work)
    finally:
        work.cancel()
        await asyncio.wait({work})
        await participant.close()


class Process:
    """The journal as its own process."""

    def __init__(self, url: str, directory: Path) -> None:
        """Not yet started."""
        self.directory = directory
        self._env = {**os.environ, "PROPDESK_NATS_URL": url, "PROPDESK_DESK": "desk", "PROPDESK_DIR": str(directory)}
        self._process: asyncio.subprocess.Process | None = None

    @property
    def process(self) -> asyncio.subprocess.Process:
        """The running process."""
        assert self._process is not None
        return self._process

    @property
    def output(self) -> str:
        """Everything it said."""
        return (self.directory / "journal.log").read_text()

    async def start(self) -> None:
        """Start it; it may not be ready yet."""
        self.directory.mkdir(exist_ok=True)
        with (self.directory / "journal.log").open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "services.journal", cwd=ROOT, env=self._env, stdout=output, stderr=output
            )

    async def end(self, number: signal.Signals) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        async with asyncio.timeout(WAIT_S):
            return await self.process.wait()


async def asked(bus: Connection, subject: str, kind: type[A]) -> A | None:
    """An answer over the bus, None while nobody gives one."""
    try:
        return msgspec.json.decode(await bus.rpc.request(subject, b"", 1.0), type=kind)
    except BusError:
        return None
