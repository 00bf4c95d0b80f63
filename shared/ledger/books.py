"""How one book changes: deposits and withdrawals, orders, fills and adjustments."""

from typing import Final

from msgspec.structs import replace

from shared.ledger.state import Book, Counter, Holding, LedgerOrder, State
from shared.protocol.events import FillSettled, Share
from shared.protocol.market import Side, instrument_key
from shared.protocol.money import ZERO, Exact, divide, wide_context

FEE: Final = "fee"


def with_book(state: State, book: Book) -> State:
    """The state with one book replaced."""
    return replace(state, books={**state.books, book.name: book})


def known_value(book: Book) -> Exact | None:
    """V of unit accounting: the newest valuation of any kind, or cash if nothing is held; None if that is not known."""
    return book.value if book.holdings else book.cash


def flow(book: Book, amount: Exact) -> Book:
    """The book after a deposit of base currency, or with a negative amount a withdrawal.

    Units × (V + d) / V, and so peak, previous valuation and the value from which the day's loss counts; with V = 0 a deposit buys
    units at 1 and sets the peak. Where nothing is left or was, a breach ends with what fell. So a flow is never profit or loss
    and moves neither drawdown nor daily loss. Operators' flows are refused while V is not known.
    """
    value = known_value(book)
    value = book.cash if value is None else value
    with wide_context():
        after = Exact(value + amount)
        base = replace(
            book,
            cash=Exact(book.cash + amount),
            deposited=Exact(book.deposited + max(amount, ZERO)),
            withdrawn=Exact(book.withdrawn + max(-amount, ZERO)),
            value=None if book.value is None else Exact(book.value + amount),
        )
        if value <= 0:
            flows = Exact(book.loss_flows + amount)
            return replace(base, units=Exact(book.units + amount), peak=after, previous=None, loss_flows=flows, breach=None)
        if not after:
            emptied = None if book.loss_start is None else Exact(-book.loss_start)
            return replace(base, units=ZERO, peak=ZERO, previous=None, loss_flows=emptied or ZERO, breach=None)
        return replace(
            base,
            units=divide(book.units * after, value),
            peak=divide(book.peak * after, value),
            previous=None if book.previous is None else divide(book.previous * after, value),
            loss_flows=_loss_flows(book, value, after),
        )


def _loss_flows(book: Book, value: Exact, after: Exact) -> Exact:
    """What flows add to the start of the day's loss, once the book is worth `after` instead of `value`."""
    if book.loss_start is None:
        return ZERO
    return Exact(divide((book.loss_start + book.loss_flows) * after, value) - book.loss_start)


def close(book: Book, amount: Exact) -> Book:
    """The book at its end: what cash was left leaves with it."""
    with wide_context():
        cash, withdrawn = Exact(book.cash - amount), Exact(book.withdrawn + amount)
    ended = replace(book, cash=cash, withdrawn=withdrawn, closed=True, paused="", value=cash)
    return replace(ended, units=ZERO, peak=ZERO, previous=None)


def adjust(book: Book, share: Share, kind: str, key: str | None) -> Book:
    """The book after its part of an adjustment: cash, and shares with their cost. It is profit or loss, never a flow."""
    with wide_context():
        cash = Exact(book.cash + share.cash)
        fees = Exact(book.fees - share.cash) if kind == FEE else book.fees
        book = replace(book, cash=cash, fees=fees)
        if key is None or share.quantity is None:
            return book
        before = book.holdings.get(key, Holding(ZERO, ZERO))
        quantity, cost = Exact(before.quantity + share.quantity), Exact(before.cost + (share.cost or ZERO))
        holding = replace(before, quantity=quantity, cost=cost)
        others = {name: old for name, old in book.holdings.items() if name != key}
        return replace(book, holdings={**others, key: holding} if holding.quantity else others)


def valued(book: Book, value: Exact | None, day: str) -> Book:
    """The book after a valuation of any kind on an exchange day.

    The loss of the day counts from the newest valuation before it, else from its first one that is known.
    """
    if day != book.loss_day:
        start = value if book.value is None else book.value
        return replace(book, value=value, loss_day=day, loss_start=start, loss_flows=ZERO)
    if book.loss_start is None:
        return replace(book, value=value, loss_start=value, loss_flows=ZERO)
    return replace(book, value=value)


def with_order(book: Book, order: LedgerOrder, counted: int = 0) -> Book:
    """The book with an open order put in, or an ended one taken out; `counted` is +1 at approval, −1 when withheld."""
    orders = dict(book.orders)
    if order.state.is_open:
        orders[order.id] = order
    else:
        orders.pop(order.id, None)
    if not counted:
        return replace(book, orders=orders)
    month, day = order.counted
    return replace(book, orders=orders, month=_counted(book.month, month, counted), day=_counted(book.day, day, counted))


def _counted(counter: Counter, period: str, change: int) -> Counter:
    """The counter after an approval or its return; what belongs to a period that is over changes nothing."""
    if change < 0:
        return replace(counter, used=max(counter.used + change, 0)) if counter.period == period else counter
    return Counter(period, counter.within(period) + change)


def settle(book: Book, fill: FillSettled, exchange: str | None = None) -> Book:
    """The book after a fill: cash, fees and the holding with its cost, bought on `exchange` if that is given."""
    key = instrument_key(fill.symbol, fill.currency)
    with wide_context():
        gross = fill.quantity * fill.price * fill.fx
        fee = (gross if fill.side is Side.SELL else -gross) - fill.cash_effect
        before = book.holdings.get(key, Holding(ZERO, ZERO))
        holding = replace(_after(before, fill), exchange=exchange if fill.side is Side.BUY and exchange else before.exchange)
        others = {name: old for name, old in book.holdings.items() if name != key}
        return replace(
            book,
            cash=Exact(book.cash + fill.cash_effect),
            fees=Exact(book.fees + fee),
            holdings={**others, key: holding} if holding.quantity else others,
        )


def _after(holding: Holding, fill: FillSettled) -> Holding:
    """A BUY adds its full cash cost; a SELL removes cost in proportion, so that the average cost stays."""
    if fill.side is Side.BUY:
        return Holding(Exact(holding.quantity + fill.quantity), Exact(holding.cost - fill.cash_effect))
    left = Exact(holding.quantity - fill.quantity)
    if not left:
        return Holding(ZERO, ZERO)
    return Holding(left, divide(holding.cost * left, holding.quantity))
