"""A process that must not outlive its parent, nor a server that is gone."""

import asyncio
import ctypes
import os
import signal
import sys
from typing import Final, Protocol

from shared.bus.ports import BusError, Unavailable

PR_SET_PDEATHSIG: Final = 1
ROUND_TRIP_EVERY_S: Final = 5.0
ROUND_TRIP_TIMEOUT_S: Final = 4.0
MAX_SILENT_ROUNDS: Final = 3


class Orphaned(BusError):
    """The parent process is gone."""


def die_with_parent(parent_pid: int) -> None:
    """Be killed when the parent dies; raises `Orphaned` if it is dead already. Elsewhere than on Linux `guard` looks.

    SIGKILL and not SIGTERM: after the desk nothing is appended, and a killed service loses nothing.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    _check_parent(parent_pid)


def _check_parent(parent_pid: int) -> None:
    """A parent that died before the signal was set sends none."""
    if os.getppid() != parent_pid:
        raise Orphaned(f"the parent process {parent_pid} is gone")


class Alive(Protocol):
    """A connection that can be asked for a sign of life."""

    async def alive(self, timeout_s: float) -> bool:
        """Whether a message comes back through the server within `timeout_s`."""
        ...


async def guard(connection: Alive, parent_pid: int | None) -> None:
    """Return never; raises `Unavailable` after 15 s without a round trip to the server, `Orphaned` without the parent.

    Rounds are counted and not seconds, so that a process that was stopped for a while is not taken for a silent server.
    """
    silent = 0
    loop = asyncio.get_running_loop()
    while silent < MAX_SILENT_ROUNDS:
        started = loop.time()
        if parent_pid is not None:
            _check_parent(parent_pid)
        silent = 0 if await connection.alive(ROUND_TRIP_TIMEOUT_S) else silent + 1
        await asyncio.sleep(max(0.0, started + ROUND_TRIP_EVERY_S - loop.time()))
    raise Unavailable(f"no answer from the NATS server for {MAX_SILENT_ROUNDS * ROUND_TRIP_EVERY_S:g} s")
