"""Picks the events that explain something out of a log that is read once, from its beginning. Pure."""

import difflib
from collections import deque
from collections.abc import Iterable
from typing import Final, TypeVar

import msgspec

from services.journal.subject import FORMS, Kind, Subject
from shared.ledger.dry import is_dry
from shared.protocol.envelope import EnvelopeError, Event
from shared.protocol.events import Data, Decision, ProposalMade, Verdict
from shared.protocol.ids import about_of, index_of, is_caused, run_of

D = TypeVar("D", bound=Data)

LOOKBACK: Final = 1000
"""So many events outside of runs are kept in case a later one names them as its cause."""
KEPT_NAMES: Final = 20_000
NEAREST: Final = 3
LIKENESS: Final = 0.6
NAMING: Final = frozenset({"RunStarted", "OrderIntended", "OrderWithheld", "FillSettled"})
"""Types whose events are about what can be explained."""
OF_ORDERS: Final = frozenset({"CancelOrdered", "ApprovalGiven", "ApprovalRefused"})
"""What operators say of an order."""
CONTEXT: Final = frozenset({"RunStarted", "ProposalMade", "Verdict"})
"""Events of the run that the story of one of its orders needs."""


class Unknown(Exception):
    """The log has nothing of that name; the message names what is nearest."""


class Explanation(msgspec.Struct, frozen=True):
    """Every event of `about` in log order, and the policy under which it was judged. The log was read up to `last_seq`.

    `signed`: the signature of each was checked with the key in force at its place. `dropped`: so many messages of that log are no
    facts and were left out.
    """

    kind: Kind
    about: str
    run: str | None
    order: str | None
    execution: str | None
    events: tuple[Event, ...]
    policy: Event | None
    last_seq: int
    signed: bool = False
    dropped: int = 0

    @property
    def dry(self) -> bool:
        """Whether the run asked about only tried."""
        return any(event.run == self.run and is_dry(event) for event in self.events if event.run is not None)

    @property
    def index(self) -> int | None:
        """The place in the proposal of the order asked about."""
        return None if self.order is None else index_of(self.order)

    @property
    def decision(self) -> Decision | None:
        """The judgement of the order asked about."""
        rows = (row for verdict in every(self.events, Verdict) for row in verdict.decisions)
        return next((row for row in rows if row.index == self.index), None)


class Gatherer:
    """Takes every event of a log in order and keeps those of one subject."""

    def __init__(self, subject: Subject) -> None:
        """Look for `subject`."""
        self._subject, self._run = subject, subject.run
        self._order = subject.name if subject.kind is Kind.ORDER else None
        self._kept: dict[str, Event] = {}
        self._own: set[str] = set()
        self._open: dict[str, list[Event]] = {}
        self._beside: dict[str, Event] = {}
        self._policy: Event | None = None
        self._adopted: Event | None = None
        self._names: deque[str] = deque(maxlen=KEPT_NAMES)

    def take(self, event: Event) -> None:
        """The next event of the log."""
        run = _run(event)
        if event.type in NAMING or (event.type == "MarketObserved" and is_caused(run)):
            self._names.append(about_of(event.id))
        if event.type == "PolicyAdopted":
            self._adopted = event
        if self._is_own(event, run):
            self._keep(event)
        elif self._subject.kind is Kind.EXECUTION and self._run is None and run is not None:
            self._watch(event, run)
        if run is None or event.type == "HaltTripped":
            self._remember(event)

    def _is_own(self, event: Event, run: str | None) -> bool:
        """Whether it is of the run asked about, follows from such an event, or is the very event asked about."""
        if event.id == self._subject.name or event.envelope.cause in self._own:
            return True
        return run is not None and run == self._run

    def _keep(self, event: Event) -> None:
        """Keep an event of the subject, and what led to it."""
        self._kept[event.id] = event
        if self._subject.kind is not Kind.EVENT or event.id == self._subject.name:
            self._own.add(event.id)
        if event.type == "Verdict":
            self._policy = self._adopted
        cause = self._beside.get(event.envelope.cause or "")
        if cause is not None:
            self._kept.setdefault(cause.id, cause)

    def _watch(self, event: Event, run: str) -> None:
        """Hold the events of a run that goes on until it turns out to be that of the execution asked about."""
        self._open.setdefault(run, []).append(event)
        if event.type == "FillSettled" and about_of(event.id) == self._subject.name:
            self._run, self._order = run, event_order(event)
            for kept in self._open.pop(run):
                self._keep(kept)
            self._open.clear()
        elif event.type == "RunEnded" or (event.type == "RunSettled" and is_caused(run)):
            del self._open[run]

    def _remember(self, event: Event) -> None:
        self._beside[event.id] = event
        if len(self._beside) > LOOKBACK:
            del self._beside[next(iter(self._beside))]

    def result(self, last_seq: int) -> Explanation:
        """What was found; raises `Unknown`, naming what is nearest."""
        subject = self._subject
        events = tuple(sorted(self._kept.values(), key=lambda event: event.seq))
        if not events:
            raise Unknown(f"the log, which ends at {last_seq}, knows no {subject.kind} {subject.name}{self._nearest()}")
        if self._order is not None:
            events = _of_order(events, self._order)
        execution = subject.name if subject.kind is Kind.EXECUTION else None
        return Explanation(subject.kind, subject.name, self._run, self._order, execution, events, self._policy, last_seq)

    def _nearest(self) -> str:
        """The names most like the one asked for, in words."""
        found = difflib.get_close_matches(self._subject.name, self._names, NEAREST, LIKENESS)
        if found:
            return f"; the nearest are {', '.join(found)}"
        newest = f"; the newest are {', '.join(list(self._names)[-NEAREST:])}" if self._names else ""
        return f"{newest}; {FORMS}"


def data_of(event: Event) -> Data | None:
    """An event's data, None where it cannot be read."""
    try:
        return event.data
    except EnvelopeError:
        return None


def every(events: Iterable[Event], kind: type[D]) -> list[D]:
    """The data of every event of a type that can be read."""
    return [data for event in events if isinstance(data := data_of(event), kind)]


def event_order(event: Event) -> str | None:
    """The order that an event is about."""
    order = getattr(data_of(event), "order", None)
    return order if isinstance(order, str) else None


def _run(event: Event) -> str | None:
    """The run of an event; what an operator says of an order belongs to that of the order."""
    if event.run is None and event.type in OF_ORDERS:
        return run_of(event_order(event) or "") or None
    return event.run


def _of_order(events: Iterable[Event], order: str) -> tuple[Event, ...]:
    """Of a run's events those that concern one order; raises `Unknown` if the run has no such order."""
    events = tuple(events)
    index = index_of(order)
    verdicts = every(events, Verdict)
    proposed = max((len(proposal.orders) for proposal in every(events, ProposalMade)), default=0)
    decided = {row.index for verdict in verdicts for row in verdict.decisions}
    own = [event for event in events if event.type not in CONTEXT and event_order(event) == order]
    if not own and index > proposed and index not in decided:
        run = run_of(order)
        raise Unknown(f"{run} has no order {index}" + (f": the last is {run}-{proposed}" if proposed else ": it proposed none"))
    evidence = {name for verdict in verdicts for name in verdict.evidence}
    return tuple(event for event in events if event in own or event.type in CONTEXT or event.id in evidence)
