"""The state of the exchange model, and what a command makes of it."""

from typing import NamedTuple

import msgspec

from services.simulator.market import Moment, moment
from services.simulator.orders import EXCHANGE, Execution, Order, Session, Step, Terms
from services.simulator.prices import PriceFile
from services.simulator.scenario import NO_SCENARIO, MarketScript, Scenario
from shared.protocol.instants import Instant
from shared.protocol.money import Exact


class Exchange(NamedTuple):
    """What never changes: the prices, the terms of the account, and the scenario it was started with."""

    file: PriceFile
    terms: Terms
    scenario: Scenario = NO_SCENARIO

    @property
    def is_scripted(self) -> bool:
        """Whether the scenario says anything."""
        return self.scenario is not NO_SCENARIO

    def knows(self, symbol: str, currency: str) -> bool:
        """Whether this instrument is traded here."""
        return symbol in self.file.columns and currency == self.currency_of(symbol)

    def currency_of(self, symbol: str) -> str:
        """The currency of a name's prices."""
        listed = (entry.currency for entry in self.scenario.listing if entry.currency and symbol in entry.symbols)
        return next(listed, self.terms.currency)

    def exchange_of(self, symbol: str) -> str:
        """Where a name is traded."""
        listed = (entry.exchange for entry in self.scenario.listing if entry.exchange and symbol in entry.symbols)
        return next(listed, EXCHANGE)


class State(msgspec.Struct, frozen=True):
    """Everything that decides what happens next; ended orders and executions stand in the outcomes.

    `cash` by currency, `positions` by symbol (never 0), `working` orders by permanent id. `scripts` came over the control port;
    `adjusted` are the places of the adjustments that were made.
    """

    cash: dict[str, Exact]
    positions: dict[str, Exact] = {}
    working: tuple[Order, ...] = ()
    last_perm_id: int = 0
    last_execution: int = 0
    clock: Instant | None = None
    session: Session | None = None
    step: Step | None = None
    scripts: tuple[MarketScript, ...] = ()
    adjusted: tuple[str, ...] = ()

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
