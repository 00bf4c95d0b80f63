"""Keeps one process running: starts it, waits until it is ready, starts it again when it dies, and knows when to give up."""

import asyncio
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Never

from services.desk.console import say
from services.desk.disk import Disk
from services.desk.errors import DeskError, RunFailed
from services.desk.process import Spec, exited, how_it_ended, last_lines, spawn
from services.desk.settings import Bounds

Ready = Callable[[int], Awaitable[bool]]
"""Whether the process with this pid is ready; never raises, answers within its own bound."""

Endings = Mapping[int, Callable[[tuple[str, ...]], DeskError]]
"""Exit codes that end the run, and as what, given the last log lines."""

_NO_ENDINGS: Final[Endings] = {}

FINAL: Final = 3
"""The exit code of a service that found log and broker at odds: true on a full disk too."""


class Child:
    """One process that is kept running. `deaths` counts those in a row without being ready in between."""

    def __init__(
        self, spec: Spec, ready: Ready, bounds: Bounds, disk: Disk, endings: Endings = _NO_ENDINGS, every_s: float | None = None
    ) -> None:
        """Describe it; `keep` starts it. It is asked whether it is ready `every_s`, by default as the bounds say."""
        self.spec, self.deaths = spec, 0
        self._ends, self._disk = 0, disk
        self.process: subprocess.Popen[bytes] | None = None
        self.is_ready = asyncio.Event()
        self._probe, self._bounds, self._endings = ready, bounds, endings
        self._every_s = every_s or bounds.probe_every_s

    @property
    def name(self) -> str:
        """The service."""
        return self.spec.name

    async def keep(self) -> Never:
        """Run it for ever; raises `RunFailed` when it keeps dying, or what its exit code stands for."""
        while True:
            if self._start():
                self._judge(await self._watch())
            self._ends += 1
            await asyncio.sleep(self._bounds.backoff(self._ends))

    def _start(self) -> bool:
        """Start the process; False while the disk is too full for that. Raises `RunFailed` if it cannot be started at all."""
        try:
            self.process = spawn(self.spec)
        except OSError as error:
            if self._disk.stops():
                return False
            raise RunFailed(f"{self.name} cannot be started: {error}") from error
        return True

    async def _watch(self) -> int:
        """Wait for the process's end while asking it whether it is ready."""
        assert self.process is not None
        asking = asyncio.ensure_future(self._until_ready(self.process))
        try:
            return await exited(self.process)
        finally:
            self.is_ready.clear()
            asking.cancel()

    async def _until_ready(self, process: subprocess.Popen[bytes]) -> None:
        """Note when it is ready; kill it if it never is."""
        until = time.monotonic() + self._bounds.ready_s
        while time.monotonic() < until:
            if await self._probe(process.pid):
                self.deaths = self._ends = 0
                self.is_ready.set()
                return
            await asyncio.sleep(self._every_s)
        say(f"propdesk: {self.name} was not ready after {self._bounds.ready_s:.0f} s and is started again")
        process.kill()

    def _judge(self, code: int) -> None:
        """Count a death, unless a full disk explains it; raises what ends the run."""
        lines = last_lines(self.spec.log)
        if code != FINAL and self._disk.stops():
            return
        if code in self._endings:
            raise self._endings[code](lines)
        self.deaths += 1
        how = how_it_ended(code)
        if self.deaths >= self._bounds.deaths:
            message = f"{self.name} died {self.deaths} times in a row without being ready in between ({how}); see {self.spec.log}"
            raise RunFailed(message, lines)
        say(f"propdesk: {self.name} ended ({how}) and is started again")

    async def answers(self) -> bool:
        """Whether it is there and ready now."""
        return self.process is not None and await self._probe(self.process.pid)

    def kill(self) -> None:
        """End a process that no longer answers; `keep` starts it again."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
