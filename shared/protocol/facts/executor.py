"""What the executor says: the account, the market, orders and fills."""

import msgspec

from shared.protocol.facts.base import Data
from shared.protocol.market import ExchangeSession, Quote, Side
from shared.protocol.money import Exact, Money
from shared.protocol.reasons import OrderEnd, Withheld


class Difference(Data, frozen=True):
    """One line of a reconciliation that does not add up; absent means unknown."""

    what: str
    expected: str | None
    found: str | None


class AccountReconciled(Data, frozen=True):
    """Ledgers, positions, open orders and cash of the broker's account agree. Amounts per key or currency are the broker's.

    `unattributed`: cash that nothing in the log explains and that is in no book, by currency since it was last adopted. `pending`
    are orders at the broker that explain what differs in shares, and `awaited` in cash; they are looked at again when they end.
    """

    account: str
    cash: dict[str, Exact]
    positions: dict[str, Exact]
    open_orders: tuple[str, ...]
    unattributed: dict[str, Exact] = msgspec.field(default_factory=dict)
    awaited: dict[str, Exact] = msgspec.field(default_factory=dict)
    pending: tuple[str, ...] = ()


class ReconciliationFailed(Data, frozen=True):
    """They do not agree, or the log was lost: every difference listed, and what the broker has, None where it is unknown.

    `final`: log and broker contradict each other so that nothing at all may be sent any more. Else buying is blocked, and
    exits, valuation and kill switch go on.
    """

    account: str | None
    differences: tuple[Difference, ...]
    cash: dict[str, Exact] | None = None
    positions: dict[str, Exact] | None = None
    final: bool = False


class MarketObserved(Data, frozen=True):
    """Prices, ticks, FX and sessions at one time; what is absent is unknown.

    `purpose` is run, verdict, watch, liquidation or approval. `fx`: base units per unit of the currency. `ticks` by instrument
    key, `sessions` by exchange. `positions`, for a liquidation: the broker's shares of each held name, None if unknown (then
    its last complete answer counts).
    """

    purpose: str
    quotes: tuple[Quote, ...]
    ticks: dict[str, Exact]
    fx: dict[str, Exact]
    sessions: dict[str, ExchangeSession]
    positions: dict[str, Exact] | None = None


class OrderWithheld(Data, frozen=True):
    """An approved order is not sent; its reservation and its count go back."""

    order: str
    reason: Withheld
    message: str


class OrderIntended(Data, frozen=True):
    """About to be sent; `exchange` is where, `reference` what the broker will know it by."""

    order: str
    symbol: str
    currency: str
    exchange: str
    side: Side
    quantity: Exact
    limit: Exact
    reference: str


class OrderPlaced(Data, frozen=True):
    """The broker has it. `status` is working or done; `permanent_id` is the broker's own number for it."""

    order: str
    permanent_id: str
    status: str


class OrderClosed(Data, frozen=True):
    """Its end, the shares filled in all, and the broker's words."""

    order: str
    end: OrderEnd
    filled: Exact
    message: str


class FillSettled(Data, frozen=True):
    """One execution with its commission. `fx`: base per unit of the currency; `cash_effect` in base, negative for a BUY."""

    order: str
    execution: str
    symbol: str
    currency: str
    side: Side
    quantity: Exact
    price: Exact
    fee: Money
    fx: Exact
    cash_effect: Exact


class RunSettled(Data, frozen=True):
    """Every approved order of the run is withheld or closed; counts of approved orders by their end.

    It ends a run that the desk itself caused (liquidation, approval), which has no `RunEnded`.
    """

    withheld: int
    filled: int
    unfilled: int
