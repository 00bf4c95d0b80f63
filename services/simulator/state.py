"""The state of the exchange model, and what a command makes of it."""

from typing import NamedTuple

import msgspec

from services.simulator.market import Moment, moment
from services.simulator.orders import Execution, Order, Session, Terms
from services.simulator.prices import PriceFile
from shared.protocol.instants import Instant
from shared.protocol.money import Exact


class Exchange(NamedTuple):
    """What never changes: the prices and the terms of the account."""

    file: PriceFile
    terms: Terms

    def knows(self, symbol: str, currency: str) -> bool:
        """Whether this instrument is traded here."""
        return currency == self.terms.currency and symbol in self.file.columns


class State(msgspec.Struct, frozen=True):
    """Everything that decides what happens next; ended orders and executions stand in the outcomes.

    `cash` by currency, `positions` by symbol (never 0), `working` orders by permanent id.
    """

    cash: dict[str, Exact]
    positions: dict[str, Exact] = {}
    working: tuple[Order, ...] = ()
    last_perm_id: int = 0
    last_execution: int = 0
    clock: Instant | None = None
    session: Session | None = None

    @property
    def now(self) -> Moment | None:
        """Where in the price file this is, None before the first advance."""
        return None if self.clock is None or self.session is None else moment(self.clock, self.session)


class Outcome(NamedTuple):
    """The next state, the orders that are new or changed, and the new executions."""

    state: State
    orders: tuple[Order, ...] = ()
    executions: tuple[Execution, ...] = ()


def opening(terms: Terms) -> State:
    """The state of an account that was just opened."""
    return State(cash={terms.base_currency: terms.cash})
