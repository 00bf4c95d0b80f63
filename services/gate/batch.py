"""The simulated book on which a batch is judged: reservations first, then every order approved so far applied to it."""

from datetime import timedelta
from decimal import Decimal
from typing import Final, NamedTuple

from services.gate.books import BookView
from services.gate.candidate import Candidate
from services.gate.market import Market
from services.gate.numbers import NOTHING
from services.gate.rest import at_most, sums_of
from services.gate.valuation import Valuation
from shared.ledger.reservations import held_back
from shared.ledger.state import LedgerOrder
from shared.protocol.market import ProposedOrder, Side
from shared.protocol.policy import Policy


class OpenOrder(NamedTuple):
    """An order at work: where an order of a new proposal may repeat it or trade with it."""

    id: str
    book: str
    buys: bool
    quantity: Decimal
    limit: Decimal


class Batch:
    """A copy of the book that changes with each approved order; the book itself is never touched.

    `free` is cash less reservations, in base currency, None if a reservation is unknown. Shares go by instrument key. `rest` are
    the account's other books, None where no limit over the sum of all books needs their worth.
    """

    __slots__ = (
        "_bought",
        "_exposure",
        "_moved",
        "_own",
        "_sold",
        "_working",
        "account_value",
        "approved",
        "book",
        "cash",
        "free",
        "limits",
        "market",
        "max_quote_age",
        "policy",
        "rest",
        "selling",
        "untrusted",
        "used_day",
        "used_month",
        "valuation",
        "value",
        "waiting",
    )

    def __init__(self, policy: Policy, book: BookView, market: Market, valuation: Valuation, untrusted: bool) -> None:
        """Start from the book with what its open orders hold back."""
        self.policy, self.limits, self.book, self.market, self.untrusted = policy, policy.limits, book, market, untrusted
        self.max_quote_age = timedelta(seconds=policy.limits.max_quote_age_s)
        self.valuation, self.value = valuation, valuation.value
        self.cash: Decimal = book.cash
        self.used_month, self.used_day = book.used_month, book.used_day
        self.approved: list[Candidate] = []
        self.selling: dict[str, Decimal] = {}
        self.waiting: dict[str, Decimal] = {}
        self._bought: dict[str, Decimal] = {}
        self._sold: dict[str, Decimal] = {}
        self._own: dict[str, list[OpenOrder]] = {}
        self._working: dict[str, list[OpenOrder]] = {}
        self._exposure: Decimal | None = None
        self._moved = NOTHING
        reserved = self._take_in(book)
        self.free: Decimal | None = book.cash - reserved if book.reserves else None
        summed = policy.account.max_gross_pct is not None or policy.account.max_position_pct is not None
        self.rest = sums_of(book.rest, book.others, market) if summed else None
        self.account_value = _sum(valuation.value, self.rest.value) if self.rest else None

    def _take_in(self, book: BookView) -> Decimal:
        """Index the open orders of the account by instrument; returns the cash that this book's hold back."""
        reserved = NOTHING
        for order in book.working:
            key, left = order.key, order.quantity - order.filled
            side = self.waiting if order.side is Side.BUY else self.selling
            side[key] = side.get(key, NOTHING) + left
            reserved += held_back(order)
            entry = _opened(order)
            self._own.setdefault(key, []).append(entry)
            self._working.setdefault(key, []).append(entry)
        for order in book.others:
            self._working.setdefault(order.key, []).append(_opened(order))
        return reserved

    def candidate(self, index: int, proposed: ProposedOrder) -> Candidate:
        """Read a proposed order and look up what is known of it."""
        order = Candidate(index, proposed)
        key = order.key
        order.instrument = self.policy.instrument(key)
        order.held = self.held(key)
        order.exchange = order.instrument.exchange if order.instrument else self.book.exchanges.get(key, order.asked_exchange)
        order.quote = self.market.quotes.get(key)
        order.price = self.market.price(key)
        order.fx = self.market.rates.get(order.currency)
        order.schedule = self.policy.schedule(order.currency)
        order.size()
        return order

    def held(self, key: str) -> Decimal:
        """Shares in the simulated book: bought ones added, sold ones taken off."""
        return self.book.holdings.get(key, NOTHING) - self._sold.get(key, NOTHING) + self._bought.get(key, NOTHING)

    def sellable(self, key: str) -> Decimal:
        """Shares that no working SELL stands for yet; while reconciliation fails at most what the broker is known to have."""
        own, at_broker = self.held(key) - self.selling.get(key, NOTHING), self.book.at_broker
        if at_broker is None:
            return own
        sold = sum((order.quantity for order in self.account_orders(key) if not order.buys), NOTHING)
        return min(own, max(NOTHING, at_broker.get(key, NOTHING) - sold))

    def position(self, key: str) -> Decimal:
        """Shares in the simulated book and those that its working BUYs may still bring."""
        return self.held(key) + self.waiting.get(key, NOTHING)

    def own_orders(self, key: str) -> list[OpenOrder]:
        """This book's orders at work in an instrument, those approved earlier in the batch included."""
        return self._own.get(key, _NONE)

    def account_orders(self, key: str) -> list[OpenOrder]:
        """The same of all books of the account."""
        return self._working.get(key, _NONE)

    def exposure(self) -> Decimal:
        """Holdings at reference, and what working BUYs may still buy at the larger of limit and reference; base currency.

        A working BUY without any rate adds nothing here: its reservation is unknown then, and `cash` blocks.
        """
        if self._exposure is None:
            buys = (order for order in self.book.working if order.side is Side.BUY)
            self._exposure = sum((at_most(order, self.market) or NOTHING for order in buys), self.valuation.exposure)
        return self._exposure + self._moved

    def account_exposure(self) -> Decimal | None:
        """The same of all books together, None if it is unknown."""
        return None if self.rest is None else _sum(self.exposure(), self.rest.exposure)

    def account_position(self, key: str) -> Decimal:
        """Shares of all books together, with those that working BUYs may still bring."""
        return self.position(key) + (self.rest.positions.get(key, NOTHING) if self.rest else NOTHING)

    def account_used_day(self) -> int:
        """Orders approved in the exchange day by all books together."""
        return self.used_day + self.book.rest.used_day

    def apply(self, order: Candidate, name: str) -> None:
        """Count an approved order and let the simulated book have its effect; `name` is the order's id."""
        cost = cost_of(order)
        key, quantity = order.key, cost.quantity
        moved, cash, exposure = (
            (self._bought, -cost.notional - cost.commission, quantity * max(cost.limit, cost.price) * cost.fx)
            if order.buys
            else (self._sold, cost.notional - cost.commission, -quantity * cost.price * cost.fx)
        )
        moved[key] = moved.get(key, NOTHING) + quantity
        self._moved += exposure
        self.cash += cash
        self.free = None if self.free is None else self.free + cash
        self.used_month += 1
        self.used_day += 1
        self.approved.append(order)
        entry = OpenOrder(name, self.book.name, order.buys, quantity, cost.limit)
        self._own.setdefault(key, []).append(entry)
        self._working.setdefault(key, []).append(entry)


class Cost(NamedTuple):
    """The numbers of an order of which nothing is unknown."""

    quantity: Decimal
    limit: Decimal
    price: Decimal
    fx: Decimal
    notional: Decimal
    commission: Decimal


def cost_of(order: Candidate) -> Cost:
    """The numbers of an approved order; raises `ValueError` if one is unknown, which no approved order's is."""
    quantity, limit, price, fx = order.quantity, order.limit, order.price, order.fx
    notional, commission = order.notional, order.commission
    if quantity is None or limit is None or price is None or fx is None or notional is None or commission is None:
        raise ValueError(f"order {order.index} ({order.key}) cannot be approved: not all of its numbers are known")
    return Cost(quantity, limit, price, fx, notional, commission)


_NONE: Final[list[OpenOrder]] = []


def _sum(own: Decimal | None, rest: Decimal | None) -> Decimal | None:
    """Both together; unknown if one of them is."""
    return None if own is None or rest is None else own + rest


def _opened(order: LedgerOrder) -> OpenOrder:
    """The entry of an order of the ledger."""
    return OpenOrder(order.id, order.book, order.side is Side.BUY, order.quantity, order.limit)
