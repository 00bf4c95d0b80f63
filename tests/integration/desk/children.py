"""Small processes that misbehave in one way each, for a supervisor to deal with."""

import sys
import textwrap
from pathlib import Path

from services.desk.process import Spec
from services.desk.settings import Bounds

QUICK = Bounds(
    backoff_s=0.01,
    backoff_max_s=0.04,
    deaths=10,
    grace_s=0.5,
    ready_s=5.0,
    probe_every_s=0.01,
    probe_timeout_s=0.5,
    silent_s=0.5,
    orphans_s=5.0,
)


def script(folder: Path, name: str, text: str) -> Spec:
    """A Python program; `READY` is a file that it makes when it is ready, `STARTS` one to which it appends its pid."""
    path = folder / f"{name}.py"
    head = (
        "import os, pathlib, signal, sys, time\n"
        f"STARTS = pathlib.Path({str(folder / (name + '.starts'))!r})\n"
        f"READY = pathlib.Path({str(folder / (name + '.ready'))!r})\n"
        "with STARTS.open('a') as file: file.write(f'{os.getpid()}\\n')\n"
    )
    path.write_text(head + textwrap.dedent(text))
    return Spec(name, (sys.executable, "-S", str(path)), folder / f"{name}.log")


def starts(folder: Path, name: str) -> list[int]:
    """The pids under which it was started."""
    try:
        return [int(line) for line in (folder / f"{name}.starts").read_text().split()]
    except FileNotFoundError:
        return []


async def never(_pid: int) -> bool:
    """A process that is never ready."""
    return False
