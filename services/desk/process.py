"""One child process: started so that it cannot outlive us, awaited without a thread, ended with a bound."""

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from services.desk.settings import LAST_BYTES, LAST_LINES, MAX_LOG_BYTES

_PR_SET_PDEATHSIG: Final = 1
_LIBC: Final = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
_POLL_S: Final = 0.02
KILL_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Spec:
    """How to start a process: `inherits` are descriptors it keeps open, output goes to `log`."""

    name: str
    argv: tuple[str, ...]
    log: Path
    env: Mapping[str, str] = field(default_factory=dict)
    inherits: tuple[int, ...] = ()


def spawn(spec: Spec) -> subprocess.Popen[bytes]:
    """Start it in a session of its own, so that Ctrl-C reaches us alone; raises `OSError`.

    It is killed when we die, even by SIGKILL. Setting that signal is followed by a look at the parent: it may have died before.
    """
    _put_aside(spec.log)
    with spec.log.open("ab") as log:
        return subprocess.Popen(
            spec.argv,
            env={**os.environ, **spec.env},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=spec.inherits,
            start_new_session=True,
            preexec_fn=_tied_to(os.getpid()),  # noqa: PLW1509 - one system call, bound before the fork
        )


def _tied_to(parent: int) -> Callable[[], None] | None:
    """What the child does before it becomes the program: ask to die with `parent`."""
    if _LIBC is None:
        return None
    prctl = _LIBC.prctl

    def tie() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return tie


async def exited(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end; the exit code, negative for a signal's number."""
    if process.returncode is None and (descriptor := _pidfd(process.pid)) is not None:
        await _readable(descriptor)
    while True:
        code = process.poll()
        if code is not None:
            return code
        await asyncio.sleep(_POLL_S)


def _pidfd(pid: int) -> int | None:
    """A descriptor that becomes readable at the process's end, where the kernel has such a thing."""
    try:
        return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
    except OSError:
        return None


async def _readable(descriptor: int) -> None:
    """Wait until a descriptor of our own is readable, and close it."""
    loop = asyncio.get_running_loop()
    gone = asyncio.Event()
    loop.add_reader(descriptor, gone.set)
    try:
        await gone.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


async def end(processes: list[subprocess.Popen[bytes]], grace_s: float) -> None:
    """End processes: SIGTERM to all, SIGKILL to those that are still there after `grace_s`; returns when all are gone.

    What even SIGKILL does not end within `KILL_S` hangs in the kernel: it dies when it can, and nobody waits for it.
    """
    living = [process for process in processes if process.poll() is None]
    for process in living:
        process.terminate()
    waits = [asyncio.ensure_future(exited(process)) for process in living]
    if not waits:
        return
    _, late = await asyncio.wait(waits, timeout=grace_s)
    if late:
        for process in living:
            if process.poll() is None:
                process.kill()
        _, stuck = await asyncio.wait(late, timeout=KILL_S)
        for wait in stuck:
            wait.cancel()


def last_lines(path: Path) -> tuple[str, ...]:
    """The end of a log file."""
    try:
        with path.open("rb") as log:
            log.seek(max(0, path.stat().st_size - LAST_BYTES))
            text = log.read().decode("utf-8", "replace")
    except OSError:
        return ()
    return tuple(text.splitlines()[-LAST_LINES:])


def how_it_ended(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def _put_aside(log: Path) -> None:
    """Keep one older log file when this one has grown large."""
    try:
        if log.stat().st_size > MAX_LOG_BYTES:
            os.replace(log, log.with_name(log.name + ".1"))
    except FileNotFoundError:
        return
