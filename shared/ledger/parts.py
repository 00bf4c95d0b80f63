"""The small values of the folded state: orders, holdings, halts, and what is to be sold or waits for approval. All frozen."""

from enum import StrEnum
from typing import Final

import msgspec

from shared.protocol.ids import index_of
from shared.protocol.market import Side, instrument_key
from shared.protocol.money import ZERO, Exact
from shared.protocol.policy import Commission

FULL: Final = "full"
REDUCE_ONLY: Final = "reduce_only"
ORDERED: Final = "ordered"
KILL_SWITCH: Final = "kill_switch"
EVALUATOR_FAILED: Final = "evaluator_failed"
PROPOSAL: Final = "proposal"
LIQUIDATION: Final = "liquidation"
APPROVAL: Final = "approval"
CAUSED: Final = (LIQUIDATION, APPROVAL)
"""Kinds of runs that the desk itself causes; they begin with their `MarketObserved` and end with their `RunSettled`."""


class Halt(msgspec.Struct, frozen=True):
    """A halt in force: `kind` full or reduce_only, `cause` ordered or kill_switch; `liquidate`: what is held is to be sold."""

    kind: str
    reason: str
    cause: str = ORDERED
    liquidate: bool = False


class OrderState(StrEnum):
    """How far an approved order has come."""

    APPROVED = "approved"
    INTENDED = "intended"
    WORKING = "working"
    DONE = "done"
    WITHHELD = "withheld"
    CLOSED = "closed"

    @property
    def is_open(self) -> bool:
        """Whether it still reserves cash or shares."""
        return self not in {OrderState.WITHHELD, OrderState.CLOSED}


class LedgerOrder(msgspec.Struct, frozen=True):
    """An approved order.

    `fx`: base per unit of its currency at the verdict; `schedule`: its fees, None if unknown; `counted`: month and exchange day
    in which it counts; `cancel`: an operator wants it cancelled. `halt`: the halt that came after its approval and stops it for
    good: it is withheld or cancelled, also if that halt is lifted before. `exchange`: where it was sent.
    """

    id: str
    book: str
    run: str
    symbol: str
    currency: str
    side: Side
    quantity: Exact
    limit: Exact
    fx: Exact
    schedule: Commission | None
    counted: tuple[str, str]
    state: OrderState = OrderState.APPROVED
    filled: Exact = ZERO
    permanent_id: str | None = None
    cancel: bool = False
    halt: Halt | None = None
    exchange: str | None = None

    @property
    def key(self) -> str:
        """`SYMBOL:CURRENCY`."""
        return instrument_key(self.symbol, self.currency)

    @property
    def must_end(self) -> bool:
        """Whether it is to be withheld or cancelled."""
        return self.cancel or self.halt is not None

    @property
    def index(self) -> int:
        """The order's 1-based index in its proposal."""
        return index_of(self.id)

    @property
    def remaining(self) -> Exact:
        """Shares not yet filled."""
        return Exact(self.quantity - self.filled)


class Holding(msgspec.Struct, frozen=True):
    """Shares held, their cost in base currency (buys add their full cash cost, sells remove proportionally), where bought."""

    quantity: Exact
    cost: Exact
    exchange: str | None = None


class Counter(msgspec.Struct, frozen=True):
    """Orders used in one period; `period` is `YYYY-MM` or `YYYY-MM-DD`, empty before the first."""

    period: str = ""
    used: int = 0

    def within(self, period: str) -> int:
        """Orders used in `period`: nothing of an older one counts."""
        return self.used if self.period == period else 0


class Sale(msgspec.Struct, frozen=True):
    """That what a book holds is to be sold: tried again at each slot and watch until nothing is left.

    `cause`: the event that wants it; `keys`: only these instruments, empty for all; `halted`: of a halt, so it stands until that
    is lifted, else it ends when they are sold. `looked` and `tried`: desk time of the newest verdict, and of the newest one that
    approved anything. `unfilled`: attempts of an exchange day that left something unfilled, by instrument key.
    """

    cause: str
    keys: tuple[str, ...] = ()
    halted: bool = False
    looked: str = ""
    tried: str = ""
    unfilled: dict[str, Counter] = {}

    def wants(self, key: str) -> bool:
        """Whether an instrument is to be sold."""
        return not self.keys or key in self.keys
