"""How one book changes: deposits, orders and fills."""

from msgspec.structs import replace

from shared.ledger.state import Book, Counter, Holding, LedgerOrder
from shared.protocol.events import FillSettled
from shared.protocol.market import Side, instrument_key
from shared.protocol.money import ZERO, Exact, divide, wide_context


def deposit(book: Book, amount: Exact) -> Book:
    """The book after a deposit of base currency.

    Units × (V + d) / V, and so peak and previous valuation, V being the newest valuation, or cash if nothing is held; with V = 0
    it buys units at 1 and sets the peak. So a deposit is never profit and hides no drawdown.
    """
    value = book.value if book.holdings and book.value is not None else book.cash
    with wide_context():
        after = Exact(value + amount)
        base = replace(
            book,
            cash=Exact(book.cash + amount),
            deposited=Exact(book.deposited + amount),
            value=None if book.value is None else Exact(book.value + amount),
            loss_flows=Exact(book.loss_flows + amount),
        )
        if not value:
            return replace(base, units=Exact(book.units + amount), peak=after)
        return replace(
            base,
            units=divide(book.units * after, value),
            peak=divide(book.peak * after, value),
            previous=None if book.previous is None else divide(book.previous * after, value),
        )


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


def settle(book: Book, fill: FillSettled) -> Book:
    """The book after a fill: cash, fees and the holding with its cost."""
    key = instrument_key(fill.symbol, fill.currency)
    with wide_context():
        gross = fill.quantity * fill.price * fill.fx
        fee = (gross if fill.side is Side.SELL else -gross) - fill.cash_effect
        holding = _after(book.holdings.get(key, Holding(ZERO, ZERO)), fill)
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
