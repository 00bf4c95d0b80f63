"""A data directory without space: the cause is named, the run waits, and goes on when there is space again."""

import asyncio
import contextlib
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from services.desk.errors import RunFailed
from services.desk.layout import Layout
from services.desk.lock import Lock
from services.desk.supervisor import Supervisor
from tests.integration.desk.children import QUICK, never, script, starts
from tests.support.desks import PROPDESK, wait_for

FULL = replace(QUICK, disk_poll_s=0.01, disk_still_s=0.05, disk_say_s=60.0, backoff_max_s=0.02)
SIZE_MB = 64
BOUND_S = 120.0


class Space:
    """What is free, as the test says."""

    def __init__(self, free: int) -> None:
        self.free = free

    def __call__(self, _root: Path) -> int:
        return self.free


@contextlib.asynccontextmanager
async def supervised(folder: Path, space: Space, stuck_s: float) -> AsyncIterator[Supervisor]:
    layout = Layout(folder / "desk")
    layout.make()
    lock = Lock.take(layout, 0)
    found = Supervisor(layout, lock, replace(FULL, stuck_s=stuck_s), free=space)
    try:
        yield found
    finally:
        await found.stop()
        lock.release()


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - other processes are waited for
            await asyncio.sleep(0.01)


async def forever() -> None:
    await asyncio.Event().wait()


async def test_deaths_on_a_full_disk_do_not_count_and_are_explained_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    space = Space(7 * 1024)
    async with supervised(tmp_path, space, stuck_s=60.0) as supervisor:
        child = supervisor.start(script(tmp_path, "gate", "sys.exit(1)"), never, {})
        await until(lambda: len(starts(tmp_path, "gate")) >= 12)
        assert child.deaths == 0
        space.free = 10**9
        with pytest.raises(RunFailed, match="gate died 10 times in a row"):
            await supervisor.first_of(forever())
    said = [line for line in capsys.readouterr().err.splitlines() if "is full" in line]
    assert said == [f"propdesk: the disk of {tmp_path / 'desk'} is full (7 KB free): free some space, the run goes on by itself"]


async def test_a_disk_that_stays_full_ends_the_run_with_that_reason(tmp_path: Path) -> None:
    async with supervised(tmp_path, Space(0), stuck_s=0.5) as supervisor:
        await supervisor.start_server()
        with pytest.raises(RunFailed, match=r"the disk of .* is full \(0 KB free\)") as failed:
            await supervisor.first_of(forever())
        assert failed.value.exit_code == 1


async def test_nats_server_is_started_again_when_there_is_space_again(tmp_path: Path) -> None:
    space = Space(0)
    async with supervised(tmp_path, space, stuck_s=60.0) as supervisor:
        await supervisor.start_server()
        child = supervisor.server_child
        assert child is not None
        assert child.process is not None
        first = child.process.pid
        await asyncio.sleep(10 * FULL.disk_still_s)
        assert child.process.pid == first
        space.free = 10**9
        await until(lambda: child.process is not None and child.process.pid != first and child.is_ready.is_set())


async def test_a_small_disk_on_which_everything_moves_is_not_worth_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with supervised(tmp_path, Space(0), stuck_s=60.0) as supervisor:
        watching = supervisor.watch(supervisor.disk.watch(lambda: None))
        for _ in range(20):
            supervisor.disk.moved()
            await asyncio.sleep(FULL.disk_poll_s)
        watching.cancel()
    assert "is full" not in capsys.readouterr().err


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A file system of its own; skips where we may not mount one."""
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"a tmpfs cannot be mounted here (root and CAP_SYS_ADMIN are needed): {made.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=False)


def fill(path: Path) -> None:
    """Write until nothing more goes in."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        for size in (1024 * 1024, 4096, 1):
            with contextlib.suppress(OSError):
                while file.write(b"\0" * size):
                    pass


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small tmpfs needs root")
def test_a_run_whose_disk_fills_up_says_so_and_goes_on_when_there_is_space(tmp_path: Path) -> None:
    folder, heard = tmp_path / "small", tmp_path / "stderr"
    with small_disk(folder), heard.open("w") as stderr:
        args = [str(PROPDESK), "run", "--json", "--dir", str(folder / "desk"), "--days", "40"]
        process = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=stderr, text=True)
        try:
            wait_for(lambda: "/40 sessions" in heard.read_text(), BOUND_S)
            ballast = folder / "ballast"
            fill(ballast)
            wait_for(lambda: "is full (" in heard.read_text(), BOUND_S)
            assert process.poll() is None
            ballast.unlink()
            out, _ = process.communicate(timeout=BOUND_S)
        finally:
            process.kill()
            process.wait()
        assert process.returncode == 0, heard.read_text()
        assert '"state_hash"' in out
