"""Whatever is filled in whatever order, the books add up and depend on the facts alone."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from shared.ledger.fold import apply
from shared.ledger.hashing import book_hash, state_hash
from shared.ledger.reservations import free_cash, reserved_cash
from shared.ledger.state import State
from shared.protocol.envelope import read_event
from shared.protocol.market import Side
from shared.protocol.money import Exact
from tests.support.scribe import SLOT, Scribe

FILLS = st.lists(
    st.tuples(st.integers(1, 20), st.decimals("0.01", "99.99", places=2), st.decimals("0", "2", places=2)), max_size=12
)


def buy_and_sell(book: str, scribe: Scribe, fills: list[tuple[int, Decimal, Decimal]]) -> tuple[Decimal, Decimal]:
    """Buy every lot, then sell the odd ones; returns cash and shares by arithmetic on the side."""
    run = scribe.start_run(book)
    orders = [
        ("AAA", Side.SELL if i % 2 else Side.BUY, str(quantity), str(price)) for i, (quantity, price, _) in enumerate(fills)
    ]
    ids = scribe.approve(run, *orders)
    cash, shares = Decimal(10000), Decimal(0)
    for i, (order, (quantity, price, fee)) in enumerate(zip(ids, fills, strict=True)):
        sign = -1 if i % 2 else 1
        if shares + sign * quantity < 0:
            continue
        scribe.fill(order, f"{book}.{i}", "AAA", Side.SELL if i % 2 else Side.BUY, str(quantity), str(price), str(fee))
        cash, shares = cash - sign * quantity * price - fee, shares + sign * quantity
    return cash, shares


@given(FILLS)
def test_cash_and_shares_are_the_sum_of_the_fills_and_nothing_reserved_is_negative(
    fills: list[tuple[int, Decimal, Decimal]],
) -> None:
    scribe = Scribe().open_desk("eq")
    scribe.clock("slot", SLOT, due=("eq",))
    cash, shares = buy_and_sell("eq", scribe, fills)
    book = scribe.state.books["eq"]
    assert (book.cash, book.held("AAA:USD")) == (cash, shares)
    assert reserved_cash(book) >= 0
    assert free_cash(book) + reserved_cash(book) == book.cash
    assert all(holding.quantity > 0 for holding in book.holdings.values())


@given(FILLS, FILLS)
def test_books_do_not_depend_on_one_another(
    one: list[tuple[int, Decimal, Decimal]], other: list[tuple[int, Decimal, Decimal]]
) -> None:
    hashes = []
    for order in (("eq", "mo"), ("mo", "eq")):
        scribe = Scribe().open_desk("eq", "mo")
        scribe.clock("slot", SLOT, due=("eq", "mo"))
        for book in order:
            buy_and_sell(book, scribe, one if book == "eq" else other)
        hashes.append((book_hash(scribe.state.books["eq"]), book_hash(scribe.state.books["mo"]), state_hash(scribe.state)))
    assert hashes[0] == hashes[1]


@given(FILLS)
def test_folding_the_stored_bytes_again_gives_the_same_state(fills: list[tuple[int, Decimal, Decimal]]) -> None:
    scribe = Scribe().open_desk("eq")
    scribe.clock("slot", SLOT, due=("eq",))
    buy_and_sell("eq", scribe, fills)
    state = State()
    for event in scribe.events:
        author, book = event.author, event.book
        state = apply(state, read_event(event.seq, f"ev.{author}.{book}.{event.type}", event.payload))
    assert state_hash(state) == state_hash(scribe.state)
    assert state.books == scribe.state.books


def test_the_hash_is_the_same_whatever_the_order_of_dictionaries() -> None:
    one, two = Scribe().open_desk("eq", "mo"), Scribe().open_desk("mo", "eq")
    assert one.state.books["eq"].cash == Exact(10000)
    assert state_hash(one.state) == state_hash(two.state)
