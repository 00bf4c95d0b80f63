"""Logs of a process: one JSON document a line on stderr, stdout stays free."""

import logging
import sys

import structlog
from structlog.typing import EventDict, WrappedLogger


def configure_logs(service: str, level: str = "info", *, instance: str | None = None) -> None:
    """Send all logs of this process to stderr as JSON, with the service's name, from `level` (debug to error) on."""

    def name_service(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        event["service"] = service
        if instance is not None:
            event["instance"] = instance
        return event

    structlog.configure(
        processors=[
            name_service,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
