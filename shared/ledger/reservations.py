"""What open orders hold back: cash for BUYs, shares for SELLs, each reduced by every fill."""

from decimal import Decimal

from shared.ledger.commission import fee_of
from shared.ledger.state import Book, LedgerOrder
from shared.protocol.market import Side
from shared.protocol.money import ZERO, Exact, wide_context


def reserved_by(order: LedgerOrder) -> Exact:
    """Base-currency cash that a BUY holds back: remaining × limit × FX + commission on the remainder; 0 for a SELL."""
    with wide_context():
        return Exact(held_back(order))


def held_back(order: LedgerOrder) -> Decimal:
    """The same as a plain number; call it where products are exact."""
    remaining = order.quantity - order.filled
    if order.side is not Side.BUY or not remaining:
        return ZERO
    gross = remaining * order.limit
    fee = fee_of(order.schedule, remaining, gross) if order.schedule else ZERO
    return (gross + fee) * order.fx


def reserved_cash(book: Book) -> Exact:
    """Base-currency cash held back by all open BUYs of the book."""
    with wide_context():
        return Exact(sum((reserved_by(order) for order in book.orders.values()), Decimal(0)))


def reserved_shares(book: Book, key: str, side: Side = Side.SELL) -> Exact:
    """Shares of an instrument that open orders of one side still stand for."""
    with wide_context():
        return Exact(
            sum((order.remaining for order in book.orders.values() if order.side is side and order.key == key), Decimal(0))
        )


def free_cash(book: Book) -> Exact:
    """Cash less what is held back."""
    with wide_context():
        return Exact(book.cash - reserved_cash(book))
