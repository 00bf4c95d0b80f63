"""What operators do, in words."""

import pytest

from services.journal.telling import Focus, tell
from shared.protocol.envelope import Draft, Event, read_event, seal
from shared.protocol.events import (
    AccountBaselined,
    AccountReconciled,
    AdjustmentBooked,
    BookClosed,
    BookOpened,
    CashDeposited,
    CashWithdrawn,
    EventData,
    PolicyAdopted,
    Share,
    SourcePaused,
    SourceResumed,
)
from shared.protocol.money import Exact
from tests.support.scribe import POLICY, SLOT


def event(author: str, data: EventData) -> Event:
    draft = Draft(author, "alpha", "r1", SLOT, 0, data)
    return read_event(1, draft.subject, seal(draft, desk="test", instance="1-test", n=1, prev=None))


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (BookOpened("hold", "USD"), ["the book is opened for the source hold, in USD"]),
        (CashDeposited(Exact(5), "more"), ['5 are put into the book, which is no profit: "more"']),
        (CashWithdrawn(Exact(5), "rent"), ['5 are taken out of the book, which is no loss: "rent"']),
        (BookClosed(Exact(5), "over"), ['the book is closed for good and the 5 that were left leave it: "over"']),
        (SourcePaused("holidays"), ['the book\'s source is not asked any more: "holidays"']),
        (SourceResumed("back"), ['the book\'s source is asked again: "back"']),
        (
            PolicyAdopted(POLICY, ("max_position_pct",), "abc", "tighter"),
            ['policy abc is in force from here on, with 2 instruments: "tighter"', "it states max_position_pct"],
        ),
        (
            AccountBaselined("DU1", {"AAA:USD": Exact(3)}, {"USD": Exact(7)}, "mine"),
            ['of account DU1 this belongs to no book: "mine"', "3 AAA:USD", "cash 7 USD"],
        ),
        (
            AdjustmentBooked("dividend", "USD", Exact(12), "paid", "AAA", None, (Share("alpha", Exact(12)),)),
            ['an operator books a dividend of AAA, 12 USD: "paid"', "alpha: cash 12"],
        ),
        (
            AdjustmentBooked("position", "USD", Exact(0), "split", "AAA", Exact(4)),
            ['an operator books a position of AAA, 0 USD, 4 shares: "split"', "it belongs to no book"],
        ),
    ],
)
def test_what_an_operator_does_is_told_with_its_reason(data: EventData, lines: list[str]) -> None:
    assert tell(event("desk", data), Focus()) == lines


def test_cash_in_no_book_and_orders_that_are_awaited_are_told() -> None:
    data = AccountReconciled("DU1", {"USD": Exact(9)}, {}, (), {"USD": Exact(4)}, {}, ("x-1",))
    assert tell(event("executor", data), Focus())[1:] == [
        "unattributed: 4 USD are in no book",
        "pending: what x-1 explains is looked at again when it ends",
    ]
