"""Follows orders through connections: feeds each order's state machine, asks the broker when one asks, reports what follows."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from services.executor.ibkr.connection import Link
from services.executor.ibkr.hearing import EVERYONE, Hearing
from services.executor.ibkr.life import Ask, CancelSent, Doubted, Effect, Input, Life, Patience, Phase, Sent, Swept, TimePassed
from services.executor.ibkr.lifecycle import USUAL, next_deadline, step
from services.executor.ibkr.numbers import amount

SWEEPS_APART: Final = timedelta(seconds=30)
MAX_ORDERS: Final = 10_000

Report = Callable[[str, Effect], None]


class Follower:
    """All orders that have not ended. `wants_sweep`: an order asked since the last complete sweep."""

    def __init__(self, now: Callable[[], datetime], report: Report, patience: Patience = USUAL) -> None:
        """Times come from `now`; `report` gets every effect with its order's reference, an empty one for orders not followed."""
        self._now, self._report, self._patience = now, report, patience
        self.lives: dict[str, Life] = {}
        self.strangers: list[Input] = []
        self.wants_sweep = False
        self._absent: dict[str, tuple[int, datetime]] = {}
        self._hearing: Hearing | None = None

    def attach(self, link: Link) -> Hearing:
        """Listen on a new connection; everything under way is in doubt until it was swept."""
        self._hearing = Hearing(link.ib, self.hear)
        self.hear(EVERYONE, Doubted("a new connection"))
        self.wants_sweep = True
        return self._hearing

    def follow(self, life: Life) -> None:
        """Begin with an order whose intent stands in the log; raises `ValueError` for too many or one that is followed."""
        if life.reference in self.lives or len(self.lives) >= MAX_ORDERS:
            raise ValueError(f"{life.reference} cannot be followed: {len(self.lives)} orders are")
        self.lives[life.reference] = life

    def sending(self, reference: str, order_id: int) -> None:
        """To be called right before the order is handed to the library, so that no answer comes unheard."""
        if self._hearing is None:
            raise ValueError("no connection is listened on")
        self._hearing.sent(order_id, reference)
        self.hear(reference, Sent())

    def cancelling(self, reference: str) -> None:
        """To be called right before a cancel is handed to the library."""
        self.hear(reference, CancelSent())

    def hear(self, reference: str, item: Input) -> None:
        """Feed one input to the order it is about, or to all."""
        if reference == EVERYONE:
            for each in list(self.lives):
                self.hear(each, item)
        elif reference in self.lives:
            change = step(self.lives[reference], item, self._now(), self._patience)
            self.lives[reference] = change.life
            for effect in change.effects:
                self.wants_sweep |= isinstance(effect, Ask)
                self._report(reference, effect)
        elif len(self.strangers) < MAX_ORDERS:
            self.strangers.append(item)

    def tick(self) -> None:
        """Let deadlines that have passed take effect."""
        now = self._now()
        for reference, life in list(self.lives.items()):
            due = next_deadline(life, self._patience)
            if due is not None and due <= now:
                self.hear(reference, TimePassed())

    async def sweep(self, link: Link) -> None:
        """Ask for open and completed orders and executions up to their ends, and tell every order its place in them.

        In this order: what is not open any more has completed by the next question, and its executions are there by the last.
        Raises `BrokerLost` when one list has no end: then no order is told anything.
        """
        hearing = self._hearing
        if hearing is None:
            raise ValueError("no connection is listened on")
        hearing.clear()
        await link.ask(link.ib.reqAllOpenOrdersAsync, "all open orders")
        ended = await link.ask(lambda: link.ib.reqCompletedOrdersAsync(False), "completed orders")
        await link.ask(link.ib.reqExecutionsAsync, "executions")
        found = {
            trade.order.orderRef: Swept(trade.orderStatus.status, trade.order.permId, amount(trade.order.filledQuantity))
            for trade in ended
        }
        opened = {name: Swept(seen.status, seen.perm_id, seen.filled, seen.why_held) for name, seen in hearing.opened.items()}
        self.wants_sweep = False
        for reference, life in list(self.lives.items()):
            if life.phase not in {Phase.INTENT, Phase.SETTLED, Phase.ABANDONED}:
                self.hear(reference, self._placed(reference, found.get(reference) or opened.get(reference)))

    def _placed(self, reference: str, found: Swept | None) -> Swept:
        """An order's place; one that is in no list was not found so many times, far enough apart."""
        if found is not None:
            self._absent.pop(reference, None)
            return found
        count, last = self._absent.get(reference, (0, self._now() - SWEEPS_APART))
        if self._now() - last >= SWEEPS_APART:
            count, last = count + 1, self._now()
        self._absent[reference] = (count, last)
        return Swept(None, sweeps=count)


def resumed(life: Life) -> Life:
    """An order as a restarted executor takes it up: what was under way is unknown."""
    return life if life.phase.is_closed or life.phase is Phase.INTENT else replace(life, phase=Phase.UNKNOWN, asked=False)
