"""Fills in the account, flows of emptied books, and days whose start was unknown."""

import pytest
from msgspec.structs import replace

from shared.ledger.account import filled
from shared.ledger.account_state import Account
from shared.ledger.books import settle, valued
from shared.ledger.state import Book, Holding
from shared.protocol.events import CashDeposited, CashWithdrawn, FillSettled, OrderIntended, OrderPlaced
from shared.protocol.market import Side
from shared.protocol.money import ZERO, Exact, Money
from tests.support.scribe import SLOT, Scribe

RUN = "20221003T1030-eq-1"


def fill(side: Side, quantity: int = 4, price: str = "10", fx: str = "0.5") -> FillSettled:
    """A fill in AUD with a fee of 1 USD; its cash effect is in base currency."""
    gross = Exact(quantity * Exact(price) * Exact(fx))
    effect = Exact((gross if side is Side.SELL else -gross) - 1)
    return FillSettled("o", "e", "BHP", "AUD", side, Exact(quantity), Exact(price), Money(Exact(1), "USD"), Exact(fx), effect)


@pytest.mark.parametrize(("side", "aud", "shares"), [(Side.BUY, "60", "14"), (Side.SELL, "140", "6")])
def test_a_fill_moves_cash_of_its_currency_the_fees_and_the_shares(side: Side, aud: str, shares: str) -> None:
    cash, held = {"AUD": Exact(100), "USD": Exact(7)}, {"BHP:AUD": Exact(10)}
    after_cash, after_held = {"AUD": Exact(aud), "USD": Exact(6)}, {"BHP:AUD": Exact(shares)}
    account = Account(cash=cash, found=cash, positions=held, last_positions=held)

    assert filled(account, fill(side)) == replace(
        account, cash=after_cash, found=after_cash, positions=after_held, last_positions=after_held
    )


def test_what_is_unknown_of_the_account_stays_so() -> None:
    assert filled(Account(), fill(Side.BUY)) == Account()


def test_a_fill_in_another_currency_is_booked_at_its_own_rate() -> None:
    book = Book("eq", "s", "USD", cash=Exact(100))
    bought = settle(book, fill(Side.BUY))
    assert (bought.cash, bought.fees, bought.holdings) == (Exact(79), Exact(1), {"BHP:AUD": Holding(Exact(4), Exact(21))})
    sold = settle(bought, fill(Side.SELL, 1))
    # a quarter of the cost goes with a quarter of the shares
    assert (sold.cash, sold.fees, sold.holdings) == (Exact(83), Exact(2), {"BHP:AUD": Holding(Exact(3), Exact("15.75"))})
    assert settle(sold, fill(Side.SELL, 3)).holdings == {}


def test_an_emptied_book_starts_anew_with_the_next_deposit() -> None:
    scribe = Scribe().open_desk("eq")
    scribe.clock("slot", SLOT, ("eq",))
    scribe.value("eq", "10000")
    scribe.write("desk", CashWithdrawn(Exact(10_000), "all"), "r1", book="eq")
    empty = scribe.state.books["eq"]
    assert (empty.cash, empty.units, empty.peak, empty.previous, empty.loss_flows) == (ZERO, ZERO, ZERO, None, Exact(-10_000))
    scribe.write("desk", CashDeposited(Exact(500), "again"), "r2", book="eq")
    again = scribe.state.books["eq"]
    assert (again.cash, again.units, again.peak, again.previous) == (Exact(500), Exact(500), Exact(500), None)
    assert again.loss_flows == Exact(-9_500)


def test_a_day_whose_start_was_unknown_starts_with_its_first_known_value() -> None:
    book = valued(Book("eq", "s", "USD"), None, "2022-10-03")
    assert (book.value, book.loss_day, book.loss_start) == (None, "2022-10-03", None)
    book = valued(replace(book, loss_flows=Exact(5)), Exact(100), "2022-10-03")
    assert (book.value, book.loss_start, book.loss_flows) == (Exact(100), Exact(100), ZERO)


def test_an_order_knows_how_far_it_is_and_by_what_number_the_broker_has_it() -> None:
    scribe = Scribe().open_desk("eq")
    scribe.clock("slot", SLOT, ("eq",))
    scribe.start_run("eq")
    (order,) = scribe.approve(RUN, ("AAA", Side.BUY, "1", "100"))
    intended = OrderIntended(order, "AAA", "USD", "SMART", Side.BUY, Exact(1), Exact(100), order)
    scribe.write("executor", intended, order, book="eq", run=RUN)
    assert scribe.state.runs[RUN].orders[order].state.value == "intended"
    scribe.write("executor", OrderPlaced(order, "77", "working"), order, book="eq", run=RUN)
    assert (scribe.state.runs[RUN].orders[order].state.value, scribe.state.runs[RUN].orders[order].permanent_id) == (
        "working",
        "77",
    )
