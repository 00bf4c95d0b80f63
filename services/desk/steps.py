"""Which event the desk owes next: the clock, the policy, the books. Pure.

The clock moves only when the log shows nothing outstanding; no elapsed time takes part.
"""

from datetime import time
from typing import Final

import msgspec

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
    """What a run is: its arguments, the policy that they name by hash, and the keys of a run that is signed."""

    args: RunArgs
    policy: PolicyAdopted
    keys: KeysAdopted | None = None


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
    clock = _after(step.clock, plan.args)
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


def _after(clock: ClockAdvanced, args: RunArgs) -> ClockAdvanced | None:
    """The step behind `clock`; None behind the last close."""
    if clock.step == "slot":
        closes_at = calendar().hours(parse_day(clock.session)).closes_at
        return ClockAdvanced(to_text(closes_at), "close", clock.session)
    at = args.sessions.index(clock.session) + (clock.step == "close")
    if at >= len(args.sessions):
        return None
    session = args.sessions[at]
    return ClockAdvanced(_local(session, SLOT_TIME), "slot", session, tuple(book.book for book in args.books))


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
