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


class Place(Command, frozen=True, tag="place", omit_defaults=True):
    """A DAY limit order from `client` with its own reference, which need not be unique.

    `order_id` is the client's own number for it (TWS face). `rests`: only a scenario matches it, no quote and no bar.
    `waits`: at a closed exchange it waits for the next session instead of being rejected. `refusal`: a scenario's reason
    to reject it.
    """

    client: str
    ref: str
    symbol: str
    currency: str
    side: Side
    quantity: Exact
    limit: Exact
    order_id: int = 0
    rests: bool = False
    waits: bool = False
    refusal: str = ""


class Cancel(Command, frozen=True, tag="cancel"):
    """End an order."""

    perm_id: int


class Order(msgspec.Struct, frozen=True, omit_defaults=True):
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
    order_id: int = 0
    rests: bool = False


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


class Fill(Command, frozen=True, tag="fill"):
    """A scenario's own execution of an order, working or ended: `order` as it stood, `quantity` at `price`."""

    order: Order
    quantity: Exact
    price: Exact


class Correct(Command, frozen=True, tag="correct"):
    """A scenario's correction of an execution, `execution` being its newest revision."""

    execution: Execution
    quantity: Exact
    price: Exact


class Position(msgspec.Struct, frozen=True):
    """Shares held of one instrument, never 0."""

    symbol: str
    currency: str
    quantity: Exact
