"""Proposal sources. Deciding is pure: a source sees one view and answers with a proposal or a fault."""

from services.agent.sources.errors import SourceError
from services.agent.sources.port import Close, Fault, Proposal, RunView, Source
from services.agent.sources.registry import (
    SOURCES,
    SourceKind,
    SourceSpec,
    check_source,
    keep_source,
    log_argument,
    open_source,
    parse_source,
    source_warnings,
    unused_dates,
)

__all__ = [
    "SOURCES",
    "Close",
    "Fault",
    "Proposal",
    "RunView",
    "Source",
    "SourceError",
    "SourceKind",
    "SourceSpec",
    "check_source",
    "keep_source",
    "log_argument",
    "open_source",
    "parse_source",
    "source_warnings",
    "unused_dates",
]
