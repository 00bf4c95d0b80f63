"""Logs of a process: one JSON document a line; what cannot be written is dropped and counted, and stops nothing."""

import logging
import os
from typing import Final

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

STDERR: Final = 2


class LineLog:
    """Writes whole lines to a descriptor. A full disk costs lines, not the work that they tell of.

    Nothing is kept back: a buffer would grow while the disk is full, and fail once more when it is closed.
    """

    def __init__(self, descriptor: int) -> None:
        """`descriptor` is open for writing."""
        self._descriptor = descriptor
        self._torn = False
        self.dropped = 0
        """Lines that could not be written since the last one that was."""

    def msg(self, line: str) -> None:
        """Write a line, after a word on those that were dropped before it."""
        told = f'{{"dropped": {self.dropped}, "event": "lines of this log could not be written"}}\n' if self.dropped else ""
        text = f"{told}{line}\n"
        if self._write(f"\n{text}" if self._torn else text):
            self.dropped = 0
        else:
            self.dropped += 1

    log = debug = info = warning = warn = error = critical = exception = fatal = msg

    def _write(self, text: str) -> bool:
        """Whether all of it was written; a line that broke off is ended before the next."""
        left = text.encode("utf-8", "backslashreplace")
        try:
            while left:
                written = os.write(self._descriptor, left)
                self._torn = written < len(left)
                left = left[written:]
        except OSError:
            return False
        return True


def configure_logs(service: str, level: str = "info", *, instance: str | None = None) -> None:
    """Send all logs of this process to stderr as JSON, with the service's name, from `level` (debug to critical) on."""

    def name_service(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        event["service"] = service
        if instance is not None:
            event["instance"] = instance
        return event

    send_logs_to(STDERR, name_service, level=level, cache=True)


def send_logs_to(descriptor: int, *first: Processor, level: str = "debug", cache: bool = False) -> None:
    """Send all logs of this process to `descriptor` from `level` on; `cache`: nobody changes that again."""
    lines = LineLog(descriptor)
    structlog.configure(
        processors=[
            *first,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=lambda *_args: lines,
        cache_logger_on_first_use=cache,
    )
