"""The broker's own values: its terms, the commands it takes, orders and executions.

Amounts are in the instrument's currency unless a field says otherwise; times are canonical text, which compares as time does.
"""

from enum import StrEnum
from typing import Final, Literal

import msgspec

from shared.protocol.instants import Day, Instant
from shared.protocol.market import Side
from shared.protocol.money import Exact

ACCOUNT: Final = "DU1234567"
EXCHANGE: Final = "SMART"
TICK: Final = Exact("0.01")
OPENING_CASH: Final = Exact(1_000_000)
ONE: Final = Exact(1)

Step = Literal["open", "slot", "close", "watch"]


class Terms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the account was opened with. `currency` is that of the price file, `fx` base units per unit of a currency."""

    account: str = ACCOUNT
    base_currency: str = "USD"
    currency: str = "USD"
    cash: Exact = OPENING_CASH
    fx: dict[str, Exact] = {}

    def rates(self) -> dict[str, Exact]:
        """All known rates, that of the base currency included, by currency in order."""
        return dict(sorted({**self.fx, self.base_currency: ONE}.items()))


class Status(StrEnum):
    """Where an order stands; all but `working` are final."""

    WORKING = "working"
    FILLED = "filled"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    EXPIRED = "expired"


class Session(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A trading session: `index` in the price file, its day and its hours."""

    index: int
    day: Day
    opens_at: Instant
    closes_at: Instant


class Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="op"):
    """Base of what changes the broker's books; the journal holds these."""


class Advance(Command, frozen=True, tag="advance"):
    """Time is now `to`, in or after `session`, the newest session that has opened by then."""

    to: Instant
    step: Step
    session: Session


class Place(Command, frozen=True, tag="place"):
    """A DAY limit order from `client` with its own reference, which need not be unique."""

    client: str
    ref: str
    symbol: str
    currency: str
    side: Side
    quantity: Exact
    limit: Exact


class Cancel(Command, frozen=True, tag="cancel"):
    """End an order."""

    perm_id: int


class Order(msgspec.Struct, frozen=True):
    """An order as it stands; `message` holds the broker's words about its end, `at` is when it was placed."""

    perm_id: int
    client: str
    ref: str
    symbol: str
    currency: str
    side: Side
    quantity: Exact
    limit: Exact
    status: Status
    filled: Exact
    remaining: Exact
    message: str
    at: Instant | None


class Execution(msgspec.Struct, frozen=True):
    """One fill, number `n` of the account from 1. `fx` is base units per unit of `currency` at that time."""

    execution: str
    n: int
    perm_id: int
    ref: str
    symbol: str
    currency: str
    side: Side
    quantity: Exact
    price: Exact
    fee: Exact
    fee_currency: str
    fx: Exact
    at: Instant


class Position(msgspec.Struct, frozen=True):
    """Shares held of one instrument, never 0."""

    symbol: str
    currency: str
    quantity: Exact
