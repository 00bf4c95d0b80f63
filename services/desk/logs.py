"""The desk's own log during a run: a file beside those of the services, because the terminal belongs to the person."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog


@contextmanager
def logging_to(path: Path) -> Iterator[None]:
    """Send what the bus has to say in this process to `path`, one JSON document a line."""
    with path.open("a", encoding="utf-8") as file:
        structlog.configure(
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                structlog.processors.format_exc_info,
                structlog.processors.JSONRenderer(),
            ],
            logger_factory=structlog.WriteLoggerFactory(file),
            cache_logger_on_first_use=False,
        )
        try:
            yield
        finally:
            structlog.reset_defaults()
