"""`state.json` of the calculator: a book, the orders at work and the market at one moment."""

from collections.abc import Mapping
from typing import Final

import msgspec

from services.gate.blocks import FULL, REDUCE_ONLY
from services.gate.books import BookView
from services.gate.inputs import Fields, InputError
from services.gate.market import Market, SessionView, usable_rate
from services.gate.rest import Rest
from shared.ledger.state import Halt, LedgerOrder, OrderState
from shared.protocol.ids import IdError, check_book
from shared.protocol.instants import parse
from shared.protocol.market import Quote, QuoteKind, Side, instrument_key
from shared.protocol.money import ZERO, Exact
from shared.protocol.policy import Policy

MAX_ROWS: Final = 20_000

_KEYS: Final = (
    "now",
    "book",
    "base_currency",
    "cash",
    "peak",
    "day_start_value",
    "day_flows",
    "foreign_cash",
    "halt",
    "orders_used",
    "holdings",
    "working",
    "fx",
    "quotes",
    "sessions",
)
_WORKING_KEYS: Final = ("book", "symbol", "currency", "side", "quantity", "filled", "limit")
_HOLDING_KEYS: Final = ("symbol", "currency", "quantity", "exchange")
_QUOTE_KEYS: Final = ("symbol", "currency", "bid", "ask", "last", "close", "kind", "at")


class WorkingOrder(msgspec.Struct, frozen=True):
    """An order at work, of any book of the account."""

    book: str
    symbol: str
    currency: str
    side: Side
    quantity: Exact
    filled: Exact
    limit: Exact


class CheckState(msgspec.Struct, frozen=True):
    """The document, read. `holdings` in shares and `exchanges` by instrument key; a rate that is unknown is left out of `fx`."""

    now: str
    name: str
    base_currency: str
    cash: Exact
    peak: Exact
    day_start: Exact | None
    day_flows: Exact
    foreign_cash: Mapping[str, Exact]
    halts: tuple[Halt, ...]
    used_month: int
    used_day: int
    holdings: Mapping[str, Exact]
    exchanges: Mapping[str, str]
    working: tuple[WorkingOrder, ...]
    fx: Mapping[str, Exact]
    quotes: tuple[Quote, ...]
    sessions: Mapping[str, SessionView]

    def market(self, policy: Policy) -> Market:
        """The market as rules read it."""
        return Market(self.now, self.quotes, self.fx, self.sessions, policy)

    def book(self, policy: Policy) -> BookView:
        """The book as rules read it.

        Of other books the document has the orders at work alone: each is one of theirs of the day, as orders are for the day,
        and the account is worth what the book is worth.
        """
        orders = tuple(self._order(index, order, policy) for index, order in enumerate(self.working))
        own = tuple(order for order in orders if order.book == self.name)
        others = tuple(order for order in orders if order.book != self.name)
        held = (currency for currency, amount in self.foreign_cash.items() if amount > ZERO)
        return BookView(
            name=self.name,
            cash=self.cash,
            holdings=self.holdings,
            working=own,
            others=others,
            peak=self.peak,
            used_month=self.used_month,
            used_day=self.used_day,
            halts=self.halts,
            day_start=self.day_start,
            day_flows=self.day_flows,
            currencies=tuple(sorted({self.base_currency, *held})),
            borrowed=tuple(sorted(currency for currency, amount in self.foreign_cash.items() if amount < ZERO)),
            exchanges=self.exchanges,
            rest=Rest(used_day=len(others)),
            reserves=all(order.fx and order.schedule for order in own if order.side is Side.BUY),
        )

    def _order(self, index: int, order: WorkingOrder, policy: Policy) -> LedgerOrder:
        """An order as the ledger would have it; a rate of 0 stands for an unknown one."""
        rate = Exact(1) if order.currency == self.base_currency else self.fx.get(order.currency, ZERO)
        return LedgerOrder(
            id=f"working[{index}]",
            book=order.book,
            run="",
            symbol=order.symbol,
            currency=order.currency,
            side=order.side,
            quantity=order.quantity,
            limit=order.limit,
            fx=usable_rate(rate) or ZERO,
            schedule=policy.schedule(order.currency),
            counted=("", ""),
            state=OrderState.WORKING,
            filled=order.filled,
        )


def read_state(document: object, where: str) -> CheckState:
    """The state of a document; raises `InputError` that names key, value and what is accepted."""
    fields = Fields(document, where, _KEYS)
    used = Fields(fields.raw("orders_used"), f"{where}.orders_used", ("month", "day"))
    holdings, exchanges = _holdings(fields)
    return CheckState(
        now=fields.time("now"),
        name=_book(fields),
        base_currency=fields.currency("base_currency"),
        cash=fields.number("cash"),
        peak=fields.number("peak", low=0),
        day_start=fields.number("day_start_value") if fields.has("day_start_value") else None,
        day_flows=fields.number("day_flows") if fields.has("day_flows") else ZERO,
        foreign_cash=_amounts(fields, "foreign_cash") if fields.has("foreign_cash") else {},
        halts=_halts(fields),
        used_month=used.whole("month"),
        used_day=used.whole("day"),
        holdings=holdings,
        exchanges=exchanges,
        working=tuple(_working(value, place) for place, value in fields.rows("working", MAX_ROWS)),
        fx=_amounts(fields, "fx"),
        quotes=_quotes(fields),
        sessions={name: _session(value, place) for name, place, value in fields.table("sessions")},
    )


def _book(fields: Fields) -> str:
    """The name of the book that is judged."""
    try:
        return check_book(fields.text("book"))
    except IdError as error:
        raise InputError(f"{fields.where}.book: {error}") from error


def _amounts(fields: Fields, key: str) -> dict[str, Exact]:
    """Amounts or rates by currency; one that is unknown is left out."""
    entries = fields.table(key)
    for name, place, _ in entries:
        Fields({"currency": name}, place, ("currency",)).currency("currency")
    read = {name: Fields({name: value}, f"{fields.where}.{key}", (name,)).price(name) for name, _, value in entries}
    return {name: value for name, value in read.items() if value is not None}


def _halts(fields: Fields) -> tuple[Halt, ...]:
    """The halt in force, if there is one."""
    if fields.raw("halt") is None:
        return ()
    halt = Fields(fields.raw("halt"), f"{fields.where}.halt", ("kind", "reason"))
    if halt.text("kind") not in {FULL, REDUCE_ONLY}:
        raise halt.wrong("kind", f'"{FULL}" or "{REDUCE_ONLY}"')
    return (Halt(halt.text("kind"), halt.text("reason")),)


def _holdings(fields: Fields) -> tuple[dict[str, Exact], dict[str, str]]:
    """Shares held and the exchanges they were bought on, where given; no instrument twice."""
    holdings: dict[str, Exact] = {}
    exchanges: dict[str, str] = {}
    for place, value in fields.rows("holdings", MAX_ROWS):
        row = Fields(value, place, _HOLDING_KEYS)
        key = instrument_key(row.symbol("symbol"), row.currency("currency"))
        if key in holdings:
            raise InputError(f"{place}: {key} is held twice")
        shares = row.number("quantity", low=0)
        if shares:
            holdings[key] = shares
        if row.has("exchange"):
            exchanges[key] = row.symbol("exchange")
    return holdings, exchanges


def _working(value: object, where: str) -> WorkingOrder:
    """One order at work."""
    row = Fields(value, where, _WORKING_KEYS)
    side = Side.__members__.get(row.text("side").upper())
    if side is None:
        raise row.wrong("side", "BUY or SELL")
    quantity, filled, limit = row.number("quantity", low=0), row.number("filled", low=0), row.number("limit", low=0)
    if filled > quantity:
        raise row.wrong("filled", f"at most the quantity, {quantity}")
    return WorkingOrder(row.symbol("book"), row.symbol("symbol"), row.currency("currency"), side, quantity, filled, limit)


def _quotes(fields: Fields) -> tuple[Quote, ...]:
    """The quotes; no instrument twice."""
    found: dict[str, Quote] = {}
    for place, value in fields.rows("quotes", MAX_ROWS):
        quote = _quote(value, place)
        if found.setdefault(quote.key, quote) is not quote:
            raise InputError(f"{place}: {quote.key} has two quotes")
    return tuple(found.values())


def _quote(value: object, where: str) -> Quote:
    """One quote; a price that is absent or no finite number is unknown."""
    row = Fields(value, where, _QUOTE_KEYS)
    kind = row.text("kind")
    if kind not in list(QuoteKind):
        raise row.wrong("kind", f"one of {', '.join(QuoteKind)}")
    prices = {name: row.price(name) for name in ("bid", "ask", "last", "close")}
    return Quote(row.symbol("symbol"), row.currency("currency"), QuoteKind(kind), row.time("at"), **prices)


def _session(value: object, where: str) -> SessionView:
    """Whether an exchange is open, and until when; a closed one needs no closing time."""
    row = Fields(value, where, ("open", "closes_at"))
    is_open = row.flag("open")
    closes_at = parse(row.time("closes_at")) if is_open or row.has("closes_at") else None
    return SessionView(is_open, closes_at)
