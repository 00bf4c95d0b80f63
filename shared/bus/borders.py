"""Named places between a fact and its effect, at each of which a fault test has the process killed once.

Nothing happens unless `PROPDESK_BORDERS` names a folder with a folder of the author in it: then a process that comes to a place
which has no file there yet makes the file and kills itself with SIGKILL, so that over one run every place is hit exactly once,
whatever restarts follow. Where there is a file `<place>.stop` instead, it takes that away and stops itself with SIGSTOP.
"""

import asyncio
import os
import signal
from pathlib import Path
from typing import Final

from shared.protocol.ids import is_caused

VARIABLE: Final = "PROPDESK_BORDERS"
PAUSE_S: Final = 0.3
"""Long enough for the supervisor to see that the process was ready: deaths before that are counted, and end the run."""


def _folder() -> Path | None:
    """The folder of places, if this process is under such a test."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named and Path(named).is_dir() else None


_FOLDER: Final = _folder()
ARMED: Final = _FOLDER is not None
"""Whether places matter; callers look at it first, so that they cost nothing otherwise."""


def kind_of(event_type: str, run: str | None) -> str:
    """The name of an event's kind in places: apart for runs that the desk caused, so that those die at borders of their own."""
    return f"{event_type}.caused" if is_caused(run) else event_type


async def border(author: str, place: str) -> None:
    """Pass `place`; under test the first process that does so dies here."""
    if _FOLDER is None:
        return
    stop = _FOLDER / author / f"{place}.stop"
    if stop.exists():
        stop.unlink()
        os.kill(os.getpid(), signal.SIGSTOP)
        return
    try:
        descriptor = os.open(_FOLDER / author / place, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except (FileExistsError, FileNotFoundError):
        return
    os.close(descriptor)
    await asyncio.sleep(PAUSE_S)
    os.kill(os.getpid(), signal.SIGKILL)
