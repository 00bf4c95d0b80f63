"""The broker as the executor sees it: a port, the small values that cross it, and what can go wrong.

An answer is `Complete`, or it is `Incomplete` and holds nothing: what lacks the broker's end marker is unknown and is never read
as empty. Amounts are in the currency named beside them, times are canonical text.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Generic, Protocol, TypeAlias, TypeVar

import msgspec

from shared.protocol.instants import Day, Instant
from shared.protocol.market import ExchangeSession, Order, Quote, Side, instrument_key
from shared.protocol.money import Exact, Money

T = TypeVar("T")
U = TypeVar("U")


class BrokerError(Exception):
    """Base of what goes wrong at the broker port."""


class BrokerLost(BrokerError):
    """The connection ended, or the answer had no end marker: what was asked is unknown, what was sent may have arrived."""


class BrokerRefused(BrokerError):
    """The broker answered that it will not do it; `code` is its own name for the reason."""

    def __init__(self, code: str, message: str) -> None:
        """Keep the broker's words."""
        super().__init__(f"{code}: {message}")
        self.code, self.message = code, message


class BrokerUnreadable(BrokerError):
    """The broker speaks another protocol than this adapter."""


class BrokerContradiction(BrokerError):
    """Two answers, or an answer and the log, cannot both be true; nothing is sent any more."""


class OrderStatus(StrEnum):
    """Where an order stands at the broker; all but `working` are final."""

    WORKING = "working"
    FILLED = "filled"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    EXPIRED = "expired"


class BrokerOrder(msgspec.Struct, frozen=True):
    """An order as the broker has it; `message` holds its words about the end."""

    permanent_id: str
    reference: str
    order: Order
    status: OrderStatus
    filled: Exact
    message: str


class Execution(msgspec.Struct, frozen=True):
    """One fill with its commission. `number` counts the account's executions from 1.

    `fx`: base units per unit of the currency at the fill's own time, None if unknown.
    """

    id: str
    number: int
    permanent_id: str
    reference: str
    symbol: str
    currency: str
    side: Side
    quantity: Exact
    price: Exact
    fee: Money
    fx: Exact | None

    @property
    def key(self) -> str:
        """`SYMBOL:CURRENCY`."""
        return instrument_key(self.symbol, self.currency)


class Complete(msgspec.Struct, Generic[T], frozen=True):
    """A query's answer up to its end marker, and the broker's clock when it was given (None before its first step)."""

    value: T
    clock: Instant | None

    def turned(self, into: Callable[[T], U]) -> "Complete[U]":
        """The same answer with its value made into another."""
        return Complete(into(self.value), self.clock)


class Incomplete(msgspec.Struct, frozen=True):
    """A query whose answer timed out or lacks its end marker: `what` was asked is unknown, whatever part of it came."""

    what: str
    clock: Instant | None


Answer: TypeAlias = Complete[T] | Incomplete


class Account(msgspec.Struct, frozen=True):
    """The account's name, its cash per currency, and what all of it is worth in base currency, None if unknown."""

    name: str
    cash: dict[str, Exact]
    net_liquidation: Exact | None = None


class Observation(msgspec.Struct, frozen=True):
    """What the market shows now, absent is unknown: `ticks` by instrument key, `fx` by currency, `sessions` by exchange."""

    quotes: tuple[Quote, ...]
    ticks: dict[str, Exact]
    fx: dict[str, Exact]
    sessions: dict[str, ExchangeSession]


class Bar(msgspec.Struct, frozen=True):
    """One past session of one instrument; an absent field is unknown."""

    date: Day
    open: Exact | None
    high: Exact | None
    low: Exact | None
    close: Exact | None
    volume: Exact | None


class History(msgspec.Struct, frozen=True):
    """Bars of complete sessions by symbol, oldest first; `session` is the running one, whose own bar is never among them."""

    session: Day | None
    bars: dict[str, tuple[Bar, ...]]


class Broker(Protocol):
    """A broker's account. Every method raises `BrokerLost` or `BrokerRefused`; calls may overlap."""

    @property
    def connection(self) -> int:
        """Which connection is in use, counted from 1; 0 before the first. A higher number is a newer connection."""
        ...

    @property
    def known_clock(self) -> Instant | None:
        """The newest time that an answer on this connection named; None before the first, and after the connection ended."""
        ...

    async def renew(self) -> None:
        """Close the connection and open a new one, which the broker serves only after it has read the old one to its end."""
        ...

    async def clock(self) -> Instant | None:
        """The broker's time; None before its first step."""
        ...

    async def wait(self, to: Instant) -> Instant:
        """Wait until the broker's time is at least `to`, without end; returns that time."""
        ...

    async def observe(self, keys: tuple[str, ...]) -> Complete[Observation]:
        """Quotes and ticks of the instruments among `keys` that the broker knows, all FX rates and sessions."""
        ...

    async def history(self, symbols: tuple[str, ...], currency: str, count: int) -> Complete[History]:
        """The last `count` complete bars of each symbol, fewer where the data begin later."""
        ...

    async def place(self, reference: str, order: Order, connection: int) -> None:
        """Send a DAY limit order on that connection; raises `BrokerLost`, sending nothing, if another one is in use by now.

        The broker does not deduplicate by `reference`: two calls are two orders.
        """
        ...

    async def sync(self) -> None:
        """Return when everything sent before on this connection has been dealt with."""
        ...

    async def cancel(self, permanent_id: str) -> None:
        """Ask for an order's end; an order that has ended already stays as it is."""
        ...

    async def orders(self, reference: str | None = None, *, open_only: bool = False) -> Answer[tuple[BrokerOrder, ...]]:
        """All orders, or those with a reference, or those still working, in the order in which they were placed."""
        ...

    async def executions(self, after: int = 0) -> Answer[tuple[Execution, ...]]:
        """Executions with a number above `after`, in the order in which they happened."""
        ...

    async def positions(self) -> Answer[dict[str, Exact]]:
        """Shares held by instrument key, without zeros."""
        ...

    async def account(self) -> Answer[Account]:
        """The account's name and cash."""
        ...

    async def close(self) -> None:
        """Close the connection."""
        ...
