"""Details of what events leave in a book and in the account, field by field."""

import pytest
from msgspec.structs import replace

from shared.ledger.books import adjust, close
from shared.ledger.parts import Counter, Sale
from shared.ledger.state import Book, Holding
from shared.protocol.events import (
    AccountReconciled,
    AdjustmentBooked,
    ApprovalRefused,
    FlattenOrdered,
    OrderWithheld,
    Share,
)
from shared.protocol.ids import DESK_BOOK
from shared.protocol.market import Side
from shared.protocol.money import ZERO, Exact
from shared.protocol.reasons import Withheld
from tests.support.scribe import SLOT, Scribe

TEN = Holding(Exact(10), Exact(1000))


def a_book(**fields: object) -> Book:
    return replace(Book("eq", "file", "USD", cash=Exact(100), fees=Exact(3)), **fields)


def test_a_closed_book_keeps_nothing_of_what_it_was_worth() -> None:
    before = a_book(
        units=Exact(90), peak=Exact(120), previous=Exact(110), value=Exact(100), paused="a holiday", deposited=Exact(100)
    )

    assert close(before, Exact(100)) == replace(
        before, cash=ZERO, withdrawn=Exact(100), closed=True, paused="", value=ZERO, units=ZERO, peak=ZERO, previous=None
    )
    assert close(before, Exact(60)).value == Exact(40)


@pytest.mark.parametrize(("kind", "fees"), [("fee", "5"), ("dividend", "3"), ("interest", "3"), ("position", "3")])
def test_only_a_fee_counts_as_one(kind: str, fees: str) -> None:
    found = adjust(a_book(), Share("eq", Exact(-2)), kind, None)

    assert (found.cash, found.fees) == (Exact(98), Exact(fees))


@pytest.mark.parametrize(
    ("held", "share", "after"),
    [
        ({}, Share("eq", ZERO, Exact(4), Exact(40)), {"AAA:USD": Holding(Exact(4), Exact(40))}),
        ({}, Share("eq", ZERO, Exact(4)), {"AAA:USD": Holding(Exact(4), ZERO)}),
        ({"AAA:USD": TEN}, Share("eq", ZERO, Exact(10)), {"AAA:USD": Holding(Exact(20), Exact(1000))}),
        ({"AAA:USD": TEN}, Share("eq", ZERO, Exact(-10), Exact(-1000)), {}),
        (
            {"BBB:USD": TEN, "AAA:USD": TEN},
            Share("eq", ZERO, Exact(-4), Exact(-400)),
            {"BBB:USD": TEN, "AAA:USD": Holding(Exact(6), Exact(600))},
        ),
        ({"AAA:USD": TEN}, Share("eq", Exact(5)), {"AAA:USD": TEN}),
    ],
    ids=["new", "without cost", "a split", "all of it", "beside another", "cash alone"],
)
def test_shares_of_an_adjustment_change_the_one_holding(
    held: dict[str, Holding], share: Share, after: dict[str, Holding]
) -> None:
    assert adjust(a_book(holdings=held), share, "position", "AAA:USD").holdings == after


def desk() -> Scribe:
    scribe = Scribe().open_desk("eq")
    scribe.clock("slot", SLOT, ("eq",))
    return scribe


def test_an_adjustment_explains_the_accounts_cash_and_what_was_unattributed() -> None:
    scribe = desk()
    run = scribe.start_run("eq")
    seen = AccountReconciled("DU1", {"USD": Exact(1000)}, {}, (), unattributed={"USD": Exact(7)})
    scribe.write("executor", seen, run, book="eq", run=run)
    scribe.write("desk", AdjustmentBooked("dividend", "USD", Exact(5), "a dividend", shares=(Share("eq", Exact(5)),)), "r1")
    assert (scribe.state.account.unattributed, scribe.state.account.baseline) == ({"USD": Exact(2)}, {})
    scribe.write("desk", AdjustmentBooked("interest", "USD", Exact(2), "the rest"), "r2")
    assert scribe.state.account.unattributed == {}
    # nothing is unattributed any more: what is booked beyond it leaves no trace there
    scribe.write("desk", AdjustmentBooked("interest", "USD", Exact(2), "more"), "r3")
    assert scribe.state.account.unattributed == {}


def test_cash_without_a_symbol_moves_no_shares_whatever_the_event_says() -> None:
    scribe = desk()
    scribe.write("desk", AdjustmentBooked("position", "USD", ZERO, "none", quantity=Exact(3)), "r1")

    assert scribe.state.account.baseline == {}


def test_refusing_what_nobody_asked_for_and_withholding_what_is_unknown_change_nothing() -> None:
    scribe = desk()
    before = scribe.state
    for author, data in (
        ("desk", ApprovalRefused("20221003T1030-eq-1-1", "no")),
        ("executor", OrderWithheld("20221003T1030-eq-1-1", Withheld.HALT, "")),
    ):
        scribe.write(author, data, f"about-{author}")

    assert replace(scribe.state, seq=before.seq) == before


def holding_desk(sale: Sale | None) -> Scribe:
    """A book with 10 AAA and, if any, an order to sell."""
    scribe = desk()
    run = scribe.start_run("eq")
    scribe.approve(run, ("AAA", Side.BUY, "10", "100"))
    scribe.fill(f"{run}-1", "e1", "AAA", Side.BUY, "10", "100")
    book = replace(scribe.state.books["eq"], sale=sale)
    scribe.state = replace(scribe.state, books={"eq": book})
    return scribe


COUNTS = {"AAA:USD": Counter("2022-10-03", 2)}


def flattened(sale: Sale | None, symbol: str | None = None, scope: str = "eq") -> Sale | None:
    scribe = holding_desk(sale)
    event = scribe.write("desk", FlattenOrdered(scope, symbol, "sell"), "r9")
    assert event.id == "desk:FlattenOrdered:r9"
    return scribe.state.books["eq"].sale


def test_a_flatten_is_a_sale_of_its_own_that_keeps_what_was_not_filled() -> None:
    assert flattened(None) == Sale("desk:FlattenOrdered:r9")
    assert flattened(None, "AAA:USD", DESK_BOOK) == Sale("desk:FlattenOrdered:r9", ("AAA:USD",))
    old = Sale("desk:FlattenOrdered:r1", ("BBB:USD",), looked=SLOT, tried=SLOT, unfilled=COUNTS)
    assert flattened(old, "AAA:USD") == Sale("desk:FlattenOrdered:r9", ("BBB:USD", "AAA:USD"), unfilled=COUNTS)
    assert flattened(replace(old, keys=())) == Sale("desk:FlattenOrdered:r9", unfilled=COUNTS)


def test_a_flatten_of_what_a_halt_sells_tries_at_once_again() -> None:
    old = Sale("gate:HaltTripped:x", halted=True, looked=SLOT, tried=SLOT, unfilled=COUNTS)

    assert flattened(old) == replace(old, looked="", tried="")
