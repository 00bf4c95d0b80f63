"""The sources that can be asked for by name, and the text that asks for one."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final, NamedTuple

from services.agent.sources.decisions import Decisions
from services.agent.sources.equal_weight import EqualWeight
from services.agent.sources.errors import SourceError
from services.agent.sources.hold import Hold
from services.agent.sources.loader import content_name, keep, load_decisions
from services.agent.sources.momentum import Momentum
from services.agent.sources.port import Source
from services.agent.sources.rule_breaker import RuleBreaker
from shared.protocol.ids import IdError, check_book
from shared.protocol.instants import Day

FORM: Final = "KIND[:ARG][@BOOK]"
MAX_SHOWN_CHARS: Final = 80
MAX_SHOWN_DATES: Final = 5


class SourceKind(NamedTuple):
    """A kind of source: what it does, how it is made of its argument and the data directory, and what the argument is."""

    says: str
    make: Callable[[str, Path | None], Source]
    argument: str | None = None


class SourceSpec(NamedTuple):
    """A source that was asked for, and the book that it proposes for."""

    kind: str
    argument: str
    book: str


SOURCES: Final[dict[str, SourceKind]] = {
    "equal_weight": SourceKind("every name the same share of the value, rebalanced monthly", lambda *_: EqualWeight()),
    "momentum": SourceKind("the five best names of half a year at 19 % each, rebalanced monthly", lambda *_: Momentum()),
    "rule_breaker": SourceKind("one order a session that the gate must block", lambda *_: RuleBreaker()),
    "hold": SourceKind("never an order", lambda *_: Hold()),
    "file": SourceKind('decisions from a file of JSON lines {"date", "orders"}', load_decisions, "PATH"),
}


def parse_source(text: str) -> SourceSpec:
    """Read `KIND[:ARG][@BOOK]`; the book is what follows the last `@` (unless a `/` follows it), else the kind.

    Raises `SourceError` for an unknown kind, an argument too many or too few, and a name that cannot be a book's.
    """
    head, at, tail = text.rpartition("@")
    named = bool(at) and "/" not in tail
    kind, colon, argument = (head if named else text).partition(":")
    _check_argument(kind, argument, given=bool(colon))
    try:
        return SourceSpec(kind, argument, check_book(tail if named else kind))
    except IdError as error:
        hint = f" (what follows the last @ is the book: {FORM})" if named else ""
        raise SourceError(f"--source {text[:MAX_SHOWN_CHARS]}: {error}{hint}") from error


def check_source(kind: str, argument: str) -> None:
    """Read and check all that a source needs; raises `SourceError` naming file and line. Writes nothing."""
    open_source(kind, argument)


def open_source(kind: str, argument: str, data_dir: Path | None = None) -> Source:
    """Make a source of what the run's arguments say; raises `SourceError`."""
    _check_argument(kind, argument, given=bool(argument))
    return SOURCES[kind].make(argument, data_dir)


def unused_dates(kind: str, argument: str, sessions: Collection[Day]) -> tuple[Day, ...]:
    """Dates, ascending, for which a source has decisions although they are none of `sessions`; raises `SourceError`."""
    source = open_source(kind, argument)
    return tuple(sorted(set(source.by_date).difference(sessions))) if isinstance(source, Decisions) else ()


def source_warnings(kind: str, argument: str, sessions: Collection[Day]) -> tuple[str, ...]:
    """What a person should know of a source before a run over `sessions`, as sentences; raises `SourceError`."""
    unused = unused_dates(kind, argument, sessions)
    if not unused:
        return ()
    more = f" and {len(unused) - MAX_SHOWN_DATES} more" if len(unused) > MAX_SHOWN_DATES else ""
    dates = f"{len(unused)} dates are" if len(unused) > 1 else "1 date is"
    return (
        f"{Path(argument).name}: {dates} no session of this run, nothing is done for {', '.join(unused[:MAX_SHOWN_DATES])}{more}",
    )


def log_argument(kind: str, argument: str) -> str:
    """A source's argument as the log carries it: for a file the hash of its content, never its name; raises `SourceError`."""
    return content_name(argument) if kind == "file" else argument


def keep_source(kind: str, argument: str, data_dir: Path) -> None:
    """Keep in `data_dir` what a source needs beyond its argument in the log; raises `SourceError`."""
    if kind == "file":
        keep(argument, data_dir)


def _check_argument(kind: str, argument: str, *, given: bool) -> None:
    """Refuse an unknown kind, an argument where there is none and none where there is one."""
    if kind not in SOURCES:
        raise SourceError(f"unknown source {kind[:MAX_SHOWN_CHARS]!r}; known: {', '.join(sorted(SOURCES))} (form: {FORM})")
    wanted = SOURCES[kind].argument
    if wanted is None and given:
        raise SourceError(f"the source {kind} takes no argument, found {argument[:MAX_SHOWN_CHARS]!r}")
    if wanted is not None and not argument:
        raise SourceError(f"the source {kind} needs an argument: {kind}:{wanted}")
