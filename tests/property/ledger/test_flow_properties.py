"""Deposits and withdrawals are never profit or loss: whatever flows when, drawdown and daily loss stay where they were."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from shared.ledger.books import flow, known_value
from shared.ledger.state import Book, Holding
from shared.protocol.money import ZERO, Exact

CENT = Decimal("0.00000001")
AMOUNTS = st.decimals("0.01", "1000000", places=2)


@st.composite
def books(draw: st.DrawFn) -> Book:
    """A book that was valued, with or without holdings, below its peak and its day's start or above."""
    value, peak, start = draw(AMOUNTS), draw(AMOUNTS), draw(AMOUNTS)
    holds = draw(st.booleans())
    cash = draw(st.decimals("0", "1000000", places=2)) if holds else value
    return Book(
        name="alpha",
        source="hold",
        currency="USD",
        cash=Exact(cash),
        deposited=Exact(10000),
        holdings={"AAA:USD": Holding(Exact(1), Exact(1))} if holds else {},
        peak=Exact(max(peak, value)),
        units=Exact(10000),
        previous=Exact(draw(AMOUNTS)),
        value=Exact(value),
        loss_day="2022-10-03",
        loss_start=Exact(start),
    )


@st.composite
def flows(draw: st.DrawFn) -> tuple[Book, list[Exact]]:
    """A book and flows none of which takes out what the book is worth at that time."""
    book = after = draw(books())
    found: list[Exact] = []
    for _ in range(draw(st.integers(1, 4))):
        value = known_value(after) or ZERO
        share = draw(st.decimals("-0.9", "5", places=2))
        amount = Exact((Decimal(value) * share).quantize(Decimal("0.01")))
        if not amount or value + amount <= Decimal("0.01"):
            continue
        found.append(amount)
        after = flow(after, amount)
    return book, found


def drawdown(book: Book) -> Decimal:
    return 1 - Decimal(book.value or 0) / Decimal(book.peak)


def daily_loss(book: Book) -> Decimal:
    whole = Decimal(book.loss_start or 0) + Decimal(book.loss_flows)
    return (whole - Decimal(book.value or 0)) / whole


def after_all(book: Book, amounts: list[Exact]) -> Book:
    for amount in amounts:
        book = flow(book, amount)
    return book


@given(flows())
def test_flows_change_neither_drawdown_nor_the_loss_of_the_day(case: tuple[Book, list[Exact]]) -> None:
    book, amounts = case
    after = after_all(book, amounts)
    assert abs(drawdown(after) - drawdown(book)) < CENT
    assert abs(daily_loss(after) - daily_loss(book)) < CENT * max(Decimal(1), abs(daily_loss(book)))


@given(flows())
def test_flows_add_up_in_cash_and_in_what_was_put_in(case: tuple[Book, list[Exact]]) -> None:
    book, amounts = case
    after = after_all(book, amounts)
    total = sum(amounts, Decimal(0))
    assert after.cash - book.cash == total
    assert after.net_deposits - book.net_deposits == total
    assert after.deposited >= book.deposited
    assert after.withdrawn >= book.withdrawn
    assert after.value == Exact((book.value or ZERO) + total)


@given(books(), AMOUNTS)
def test_what_is_put_in_and_taken_out_again_leaves_units_and_peak(book: Book, amount: Decimal) -> None:
    after = flow(flow(book, Exact(amount)), Exact(-amount))
    assert abs(after.peak - book.peak) < CENT * max(Decimal(book.peak), Decimal(1))
    assert abs(after.units - book.units) < CENT * max(Decimal(book.units), Decimal(1))


@given(books(), AMOUNTS)
def test_a_book_that_was_emptied_begins_anew_with_the_next_deposit(book: Book, amount: Decimal) -> None:
    if book.holdings:
        return
    empty = flow(book, Exact(-book.cash))
    assert (empty.cash, empty.units, empty.peak, empty.previous) == (ZERO, ZERO, ZERO, None)
    again = flow(empty, Exact(amount))
    assert (again.cash, again.units, again.peak, again.previous) == (Exact(amount), Exact(amount), Exact(amount), None)
    assert (again.loss_start or ZERO) + again.loss_flows == Exact(amount)
