"""Signals that end the command: once one was taken, further ones change nothing."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

from services.desk.errors import Interrupted

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STOPPING: Final = b"propdesk: stopping ...\n"
_STDERR: Final = 2

End = Callable[[Interrupted], None]


class Signals:
    """Raises `Interrupted` where the command is, or hands it over while `handing_to` is active.

    Handlers of our own and not the event loop's, because those are gone before the process is.
    """

    def __init__(self) -> None:
        """Nothing is caught before `catch`."""
        self._end: End | None = None
        self._taken = False

    def catch(self) -> None:
        """From now on these signals come here, but for a closed terminal that `nohup` wants ignored."""
        self._taken = False
        for number in ENDING:
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._came)

    def ignore(self) -> None:
        """The command is ending: whatever still comes does nothing, also while the interpreter shuts down."""
        self._taken = True
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN)

    @contextmanager
    def handing_to(self, end: End) -> Iterator[None]:
        """Call `end` for a signal instead of raising; it is called in the middle of anything and must only pass on."""
        self._end = end
        try:
            yield
        finally:
            self._end = None

    def _came(self, number: int, _frame: FrameType | None) -> None:
        if self._taken:
            return
        self._taken = True
        if self._end is None:
            raise Interrupted(number)
        with suppress(OSError):
            os.write(_STDERR, STOPPING)
        self._end(Interrupted(number))


SIGNALS: Final = Signals()
"""Those of this process."""
