"""Which event the desk owes next: the clock, the policy, the books. Pure.

The clock moves only when the log shows nothing outstanding; no elapsed time takes part.
"""

from datetime import time
from typing import Final

import msgspec

from services.simulator.scenario import NO_SCENARIO, Scenario
from shared.ledger.marks import HASHING_AUTHORS
from shared.ledger.owed import Owed, is_quiet, next_of, owed
from shared.ledger.state import State, Step
from shared.protocol.calendar import calendar
from shared.protocol.envelope import Draft
from shared.protocol.events import (
    BookArgs,
    BookOpened,
    CashDeposited,
    ClockAdvanced,
    EventData,
    KeysAdopted,
    PolicyAdopted,
    RunArgs,
)
from shared.protocol.ids import DESK_BOOK
from shared.protocol.instants import Instant, compact, parse_day, to_text

AUTHOR: Final = "desk"
SLOT_TIME: Final = time(10, 30)
OPEN_TIME: Final = time(9, 30)
OPENING_REASON: Final = "start of the run"


class Plan(msgspec.Struct, frozen=True):
    """What a run is: its arguments, the policy and the scenario that they name by hash, and the keys of a run that is signed."""

    args: RunArgs
    policy: PolicyAdopted
    keys: KeysAdopted | None = None
    scenario: Scenario = NO_SCENARIO


def next_draft(state: State, plan: Plan) -> Draft | None:
    """The event to append now; None while others owe something, after the last step, and after a lost log."""
    if state.problem is not None:
        return None
    step = state.step
    if step is None:
        return _clock(state, _opening(plan.args), None)
    items = owed(state)
    mine = next_of(items, AUTHOR)
    if mine is not None:
        return _opening_event(state, plan, step, mine)
    if not is_quiet(items):
        return None
    clock = _after(step.clock, plan)
    return None if clock is None else _clock(state, clock, step)


def is_finished(state: State, args: RunArgs) -> bool:
    """Whether the last session's close step is over and the journal has hashed everything that it owes."""
    step = state.step
    if step is None or state.problem is not None or step.clock.step != "close" or step.clock.session != args.sessions[-1]:
        return False
    return not owed(state)


def sessions_done(state: State, args: RunArgs) -> int:
    """How many sessions of the run are over: their close step has its last facts."""
    step = state.step
    if step is None or step.clock.session not in args.sessions:
        return 0
    over = step.clock.step == "close" and set(HASHING_AUTHORS) <= set(step.hashed)
    return args.sessions.index(step.clock.session) + over


def _clock(state: State, clock: ClockAdvanced, before: Step | None) -> Draft:
    """The next step of desk time, which holds only for the state that was quiet."""
    about = f"{DESK_BOOK}-{compact(clock.to)}"
    return Draft(AUTHOR, DESK_BOOK, about, clock.to, state.seq, clock, cause=before.event.id if before else None)


def _opening(args: RunArgs) -> ClockAdvanced:
    """The first event of the log: 09:30 New York of the first session, with all that decides the result."""
    return ClockAdvanced(_local(args.sessions[0], OPEN_TIME), "open", args.sessions[0], (), args)


def _after(clock: ClockAdvanced, plan: Plan) -> ClockAdvanced | None:
    """The step behind `clock`; None behind the last close."""
    sessions = plan.args.sessions
    at = sessions.index(clock.session)
    later = (step for step in _steps_of(sessions[at], plan) if step.to > clock.to)
    found = next(later, None)
    if found is None and at + 1 < len(sessions):
        found = _steps_of(sessions[at + 1], plan)[0]
    return found


def _steps_of(session: str, plan: Plan) -> list[ClockAdvanced]:
    """The steps of a session behind its open, in order of time: slot, close, and what the scenario adds."""
    due = tuple(book.book for book in plan.args.books if plan.scenario.is_due(book.book, session))
    dry = tuple(book for book in due if plan.args.dry or plan.scenario.is_dry(book, session))
    closes_at = to_text(calendar().hours(parse_day(session)).closes_at)
    watches = (_local(session, time.fromisoformat(at)) for at in plan.scenario.watch_times(session))
    steps = [
        ClockAdvanced(_local(session, SLOT_TIME), "slot", session, due, dry=dry),
        ClockAdvanced(closes_at, "close", session),
        *(ClockAdvanced(to, "watch", session) for to in watches),
    ]
    return sorted(steps, key=lambda step: step.to)


def watch_fault(scenario: Scenario, session: str) -> str | None:
    """What is wrong with the watch times of a session, in words; None if nothing is."""
    hours = calendar().hours(parse_day(session))
    first, last = to_text(hours.opens_at), to_text(hours.closes_at)
    for at in scenario.watch_times(session):
        to = _local(session, time.fromisoformat(at))
        if not first < to < last:
            return f"watch at {at} of {session} is not inside the session"
        if time.fromisoformat(at) == SLOT_TIME:
            return f"watch at {at} of {session} is the time of the slot: the slot watches too"
    return None


def _local(session: str, local: time) -> Instant:
    """The UTC time of `local` New York time on a session's day."""
    return to_text(calendar().at(parse_day(session), local))


def _opening_event(state: State, plan: Plan, step: Step, item: Owed) -> Draft:
    """Keys, policy or one of a book's opening events, at desk time."""
    data = _opening_data(plan, item)
    return Draft(AUTHOR, item.book, item.about, step.clock.to, state.seq, data, cause=step.event.id, k=item.k)


def _opening_data(plan: Plan, item: Owed) -> EventData:
    """What an owed opening event says."""
    if item.type == "KeysAdopted" and plan.keys is not None:
        return plan.keys
    if item.type == "PolicyAdopted":
        return plan.policy
    book = _book_args(plan.args, item.book)
    if item.type == "BookOpened":
        return BookOpened(book.source, plan.policy.policy.base_currency)
    if item.type == "CashDeposited":
        return CashDeposited(book.deposit, OPENING_REASON)
    raise ValueError(f"the desk cannot write the {item.type} that is owed about {item.about}")


def _book_args(args: RunArgs, name: str) -> BookArgs:
    """The arguments of one book."""
    return next(book for book in args.books if book.book == name)
