"""Asking again where a desk is starting or ending, or another command has its lock: that passes by itself."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from services.desk.errors import DeskError, DirectoryInUse, LogLost, RunFailed
from services.desk.operations.base import CommandRefused

AGAIN_S: Final = 30.0
PAUSE_S: Final = 0.2
PASSING: Final = frozenset({"busy", "ending"})
"""Why a desk refuses a command that it would take a moment earlier or later."""

Result = TypeVar("Result")


def patiently(attempt: Callable[[], Result]) -> Result:
    """The result of `attempt`, made again for `AGAIN_S` while what stands against it passes; raises what it raised last."""
    until = time.monotonic() + AGAIN_S
    while True:
        try:
            return attempt()
        except (CommandRefused, DeskError) as error:
            if not _passes(error) or time.monotonic() > until:
                raise
        time.sleep(PAUSE_S)


def _passes(error: CommandRefused | DeskError) -> bool:
    if isinstance(error, CommandRefused):
        return error.code in PASSING
    return isinstance(error, DirectoryInUse | RunFailed) and not isinstance(error, LogLost)
