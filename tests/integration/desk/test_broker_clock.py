"""The simulator's clock follows desk time, also when the simulator dies in between."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from services.desk.broker_clock import BrokerClock
from services.desk.errors import DeskError
from shared.protocol.events import ClockAdvanced

BOUND_S = 20.0
OPEN = ClockAdvanced("2022-10-03T13:30:00.000000Z", "open", "2022-10-03")
SLOT = ClockAdvanced("2022-10-03T14:30:00.000000Z", "slot", "2022-10-03")
CLOSE = ClockAdvanced("2022-10-03T20:00:00.000000Z", "close", "2022-10-03")


@contextmanager
def simulator(folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A simulator process, killed at the end."""
    env = {**os.environ, "PROPDESK_SIMULATOR_DIR": str(folder)}
    process = subprocess.Popen([sys.executable, "-m", "services.simulator"], env=env, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


class Following:
    """A clock that is kept, and a way to wait for what it has heard."""

    def __init__(self, folder: Path) -> None:
        self.answers: list[str | None] = []
        self.heard = asyncio.Event()
        self.clock = BrokerClock(folder / "port", self.heard.set)
        self.task = asyncio.ensure_future(self.clock.run())

    async def until(self, to: str) -> None:
        async with asyncio.timeout(BOUND_S):
            while self.clock.answered != to:
                self.heard.clear()
                await self.heard.wait()


@pytest.fixture
async def following(tmp_path: Path) -> AsyncIterator[Following]:
    found = Following(tmp_path)
    yield found
    found.task.cancel()
    await asyncio.gather(found.task, return_exceptions=True)


async def test_the_newest_time_is_told_as_soon_as_the_simulator_is_there(following: Following, tmp_path: Path) -> None:
    following.clock.move_to(OPEN)
    await asyncio.sleep(0)
    with simulator(tmp_path):
        await following.until(OPEN.to)
        following.clock.move_to(SLOT)
        await following.until(SLOT.to)


async def test_an_older_time_is_never_told(following: Following, tmp_path: Path) -> None:
    following.clock.move_to(CLOSE)
    following.clock.move_to(SLOT)
    with simulator(tmp_path):
        await following.until(CLOSE.to)


async def test_a_simulator_that_was_killed_is_told_again(following: Following, tmp_path: Path) -> None:
    following.clock.move_to(SLOT)
    with simulator(tmp_path):
        await following.until(SLOT.to)
    following.clock.move_to(CLOSE)
    with simulator(tmp_path):
        await following.until(CLOSE.to)


async def test_a_time_that_cannot_be_ends_the_run(following: Following, tmp_path: Path) -> None:
    following.clock.move_to(ClockAdvanced("2022-10-02T14:30:00.000000Z", "slot", "2022-10-02"))
    with simulator(tmp_path), pytest.raises(DeskError, match="2022-10-02 is no session"):
        async with asyncio.timeout(BOUND_S):
            await asyncio.shield(following.task)
