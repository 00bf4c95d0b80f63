"""The desk's own log during a run: a file beside those of the services, because the terminal belongs to the person."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO, cast

import structlog


class _Lossy:
    """A log file whose lines may get lost: a full disk must not end a run for want of a word about it."""

    def __init__(self, file: TextIO) -> None:
        """Write into `file`."""
        self._file = file

    def write(self, text: str) -> None:
        """Write it if that is possible."""
        with suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        """Bring it to the disk if that is possible."""
        with suppress(OSError):
            self._file.flush()


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
            logger_factory=structlog.WriteLoggerFactory(cast("TextIO", _Lossy(file))),
            cache_logger_on_first_use=False,
        )
        try:
            yield
        finally:
            structlog.reset_defaults()
