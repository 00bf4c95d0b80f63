"""The desk's part in the log: it moves desk time, opens books, answers commands, and sees when the run is over."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

from services.desk.broker_clock import BrokerClock
from services.desk.commands import Commands
from services.desk.errors import DeskError, NotReconciled
from services.desk.settings import Bounds
from services.desk.steps import Plan, is_finished, next_draft
from services.desk.tally import DeskState
from shared.bus.participant import Participant
from shared.ledger.owed import owed
from shared.protocol.envelope import Draft
from shared.protocol.events import ClockAdvanced, ReconciliationFailed

JOURNAL_POLL_S: Final = 0.05
MAX_NAMED: Final = 5

JournalSeq = Callable[[], Awaitable[int | None]]
"""The sequence that the journal has written; None while it does not answer."""


class DeskBook:
    """The loop of the desk. One piece of work per turn, always decided on the newest folded state."""

    def __init__(
        self,
        participant: Participant[DeskState],
        plan: Plan,
        clock: BrokerClock,
        commands: Commands,
        bounds: Bounds,
    ) -> None:
        """Work on a participant that was started."""
        self._participant, self._plan, self._clock, self._commands = participant, plan, clock, commands
        self._stall = Stall(bounds)

    async def run(
        self,
        journal_seq: JournalSeq,
        show: Callable[[DeskState], None],
        look: Callable[[], Awaitable[object]],
        stuck: Callable[[list[str]], DeskError],
    ) -> None:
        """Work until the last step is over and the journal has written everything.

        `show` is called with every new state, `look` when nothing moves for long, `stuck` makes the error when that goes on.
        Raises `NotReconciled` when the log was lost, `BusError`, and what `stuck` returns.
        """
        while True:
            await self._commands.work()
            state = self._participant.state
            show(state)
            _check(state)
            if self._stall.is_over(self._participant.cursor, self._clock.answered, look):
                raise stuck([f"{item.author} {item.type} about {item.about}" for item in owed(state.ledger)[:MAX_NAMED]])
            if await self._turn(state, journal_seq):
                return

    async def _turn(self, state: DeskState, journal_seq: JournalSeq) -> bool:
        """One piece of work, or a wait for the next event; True when there is none left."""
        step = state.ledger.step
        if step is not None:
            self._clock.move_to(step.clock)
        draft = next_draft(state.ledger, self._plan)
        if draft is not None and self._may_append(draft, state):
            await self._participant.append(draft)
            return False
        if draft is None and is_finished(state.ledger, self._plan.args):
            if await journal_seq() == self._participant.cursor == await self._participant.log.last_seq():
                return True
            await self._participant.advance(JOURNAL_POLL_S)
            return False
        await self._participant.advance(self._stall.pause_s)
        return False

    def _may_append(self, draft: Draft, state: DeskState) -> bool:
        """The clock moves on only when the broker's clock has followed it."""
        now = state.ledger.now
        if now is None or not isinstance(draft.data, ClockAdvanced):
            return True
        return self._clock.answered is not None and self._clock.answered >= now


class Stall:
    """Notices that nothing moves. Time that stands still because a service is stopped is no failure in itself."""

    def __init__(self, bounds: Bounds) -> None:
        """Everything moves as of now."""
        self._bounds = bounds
        self._seen: tuple[int, str | None] = (-1, None)
        self._since = time.monotonic()
        self._looking: asyncio.Future[object] | None = None

    @property
    def pause_s(self) -> float:
        """How long to wait for an event before looking again."""
        return self._bounds.stall_s

    def is_over(self, cursor: int, answered: str | None, look: Callable[[], Awaitable[object]]) -> bool:
        """Whether nothing moved for `stuck_s`; calls `look`, once at a time, when nothing moved for `stall_s`."""
        now = time.monotonic()
        if (cursor, answered) != self._seen:
            self._seen, self._since = (cursor, answered), now
        still_s = now - self._since
        if still_s >= self._bounds.stall_s and (self._looking is None or self._looking.done()):
            self._looking = asyncio.ensure_future(look())
        return still_s >= self._bounds.stuck_s


def _check(state: DeskState) -> None:
    """Raise `NotReconciled` when the executor found the log and the broker at odds for good."""
    if state.ledger.problem is not None:
        raise not_reconciled(state)


def not_reconciled(state: DeskState) -> NotReconciled:
    """The error that lists every difference which the executor found."""
    return NotReconciled(f"the ledger and the broker differ: {_differences(state.tally.failure) or state.ledger.problem}")


def _differences(failure: ReconciliationFailed | None) -> str:
    """Every line of a failed reconciliation."""
    rows = failure.differences if failure else ()
    return "; ".join(f"{row.what}: expected {row.expected or 'unknown'}, found {row.found or 'unknown'}" for row in rows)
