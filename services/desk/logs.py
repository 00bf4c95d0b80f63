"""The desk's own log during a run: a file beside those of the services, because the terminal belongs to the person."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

from shared.bus.logs import send_logs_to


@contextmanager
def logging_to(path: Path) -> Iterator[None]:
    """Send what the bus has to say in this process to `path`, one JSON document a line."""
    with path.open("ab", buffering=0) as file:
        send_logs_to(file.fileno())
        try:
            yield
        finally:
            structlog.reset_defaults()
