"""The simulator's lines: one JSON object per request and answer, told apart by `id`. See `services/simulator/requests.py`."""

from typing import Final

import msgspec

from services.executor.broker import Account, Bar, BrokerOrder, Execution, OrderStatus
from shared.protocol.envelope import canonical
from shared.protocol.instants import Instant
from shared.protocol.market import ExchangeSession, Order, Quote, Side, instrument_key
from shared.protocol.money import Exact, Money

MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
MAX_KEYS: Final = 1_000
MAX_SYMBOLS: Final = 500
MAX_ROWS: Final = 50_000
"""The simulator's own bounds: keys of one `quotes`, symbols and symbols × count of one `history`."""


class Fault(msgspec.Struct, frozen=True):
    """Why a request was not carried out."""

    code: str
    message: str


class Head(msgspec.Struct, frozen=True):
    """What every answer has; `id` is None if the request could not be read."""

    id: int | None
    ok: bool
    clock: Instant | None = None
    error: Fault | None = None


class Welcome(msgspec.Struct, frozen=True):
    """The answer to hello: whom we talk to. `currency` is that of every instrument traded there."""

    protocol: int
    account: str
    currency: str


class Market(msgspec.Struct, frozen=True):
    """The answer to quotes."""

    quotes: tuple[Quote, ...]
    ticks: dict[str, Exact]
    fx: dict[str, Exact]
    sessions: dict[str, ExchangeSession]


class Bars(msgspec.Struct, frozen=True):
    """The answer to history."""

    bars: dict[str, tuple[Bar, ...]]


class WireOrder(msgspec.Struct, frozen=True):
    """An order as the simulator sends it."""

    perm_id: int
    ref: str
    symbol: str
    currency: str
    side: Side
    quantity: Exact
    limit: Exact
    status: OrderStatus
    filled: Exact
    message: str

    def value(self) -> BrokerOrder:
        """As the port has it."""
        order = Order(self.symbol, self.currency, self.side, self.quantity, self.limit)
        return BrokerOrder(str(self.perm_id), self.ref, order, self.status, self.filled, self.message)


class WireExecution(msgspec.Struct, frozen=True):
    """An execution as the simulator sends it."""

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

    def value(self) -> Execution:
        """As the port has it."""
        return Execution(
            id=self.execution,
            number=self.n,
            permanent_id=str(self.perm_id),
            reference=self.ref,
            symbol=self.symbol,
            currency=self.currency,
            side=self.side,
            quantity=self.quantity,
            price=self.price,
            fee=Money(self.fee, self.fee_currency),
            fx=self.fx,
        )


class WirePosition(msgspec.Struct, frozen=True):
    """A holding as the simulator sends it."""

    symbol: str
    currency: str
    quantity: Exact

    @property
    def key(self) -> str:
        """`SYMBOL:CURRENCY`."""
        return instrument_key(self.symbol, self.currency)


class Orders(msgspec.Struct, frozen=True):
    """The answer to orders; `end` says that none is missing."""

    orders: tuple[WireOrder, ...]
    end: bool


class Executions(msgspec.Struct, frozen=True):
    """The answer to executions; `end` says that none is missing."""

    executions: tuple[WireExecution, ...]
    end: bool


class Positions(msgspec.Struct, frozen=True):
    """The answer to positions; `end` says that none is missing."""

    positions: tuple[WirePosition, ...]
    end: bool


class AccountState(msgspec.Struct, frozen=True):
    """The answer to account; `end` says that nothing is missing."""

    account: str
    cash: dict[str, Exact]
    end: bool
    net_liquidation: Exact | None = None

    def value(self) -> Account:
        """As the port has it."""
        return Account(self.account, self.cash, self.net_liquidation)


def request_line(number: int, op: str, fields: dict[str, object]) -> bytes:
    """One request."""
    return canonical({"id": number, "op": op, **fields}) + b"\n"
