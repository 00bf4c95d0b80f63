"""The day's loss counts from the newest valuation before the exchange day, whatever is deposited meanwhile."""

from typing import Any

import pytest

from services.gate.books import BookView, book_view
from shared.protocol.events import CashDeposited, CashWithdrawn
from shared.protocol.market import Side
from shared.protocol.money import Exact
from tests.support.scribe import CLOSE, SLOT, Scribe
from tests.unit.gate.given import policy

NEXT_SLOT = "2022-10-04T14:30:00.000000Z"


class Days(Scribe):
    """A book that is valued at one time after another."""

    def __init__(self) -> None:
        super().__init__()
        self.open_desk("alpha")
        self.clock("slot", SLOT)
        run = self.start_run("alpha")
        self.approve(run, ("AAA", Side.BUY, "10", "10"))
        self.fill(f"{run}-1", "1.1", "AAA", Side.BUY, "10", "10")

    def at(self, to: str, value: str, session: str = "2022-10-03") -> "Days":
        self.clock("close", to, session=session)
        self.value("alpha", value)
        return self

    def deposit(self, amount: str, request: str = "d1") -> "Days":
        self.write("desk", CashDeposited(Exact(amount), "more"), request, book="alpha")
        return self

    def view(self, at: str) -> BookView:
        return book_view(self.state, policy(), "alpha", at)


def start(view: BookView) -> tuple[Any, str]:
    return (None if view.day_start is None else str(view.day_start), str(view.day_flows))


def test_before_any_valuation_there_is_no_start() -> None:
    assert start(Days().view(SLOT))[0] is None


def test_the_first_valuation_of_the_first_day_is_its_start() -> None:
    days = Days().at(SLOT, "9000").at(CLOSE, "8000")

    assert start(days.view(CLOSE)) == ("9000", "0")


def test_the_newest_valuation_before_the_day_is_the_next_days_start() -> None:
    days = Days().at(SLOT, "9000").at(CLOSE, "8000")
    days.at(NEXT_SLOT, "7000", session="2022-10-04")

    assert start(days.view(NEXT_SLOT)) == ("8000", "0")


def test_a_new_day_has_no_start_before_its_first_valuation() -> None:
    assert start(Days().at(SLOT, "9000").view(NEXT_SLOT))[0] is None


def test_a_deposit_during_the_day_is_a_flow() -> None:
    days = Days().at(SLOT, "9000").deposit("500").deposit("100", "d2").at(CLOSE, "9400")

    assert start(days.view(CLOSE)) == ("9000", "600")


def test_a_deposit_at_a_loss_leaves_the_loss_of_the_day_where_it_was_in_percent() -> None:
    """10 % down, then the money is doubled: start 18000, value 16200, still 10 %."""
    days = Days().at(SLOT, "9000").at(CLOSE, "8100").deposit("8100")

    assert start(days.view(CLOSE)) == ("9000", "9000")


def test_a_withdrawal_at_a_loss_leaves_the_loss_of_the_day_where_it_was_in_percent() -> None:
    """10 % down, then a third of the money is taken out: start 6000, value 5400, still 10 %."""
    days = Days().at(SLOT, "9000").at(CLOSE, "8100")
    days.write("desk", CashWithdrawn(Exact(2700), "rent"), "w1", book="alpha")

    assert start(days.view(CLOSE)) == ("9000", "-3000")


def test_a_deposit_between_two_days_is_in_the_next_days_start() -> None:
    days = Days().at(CLOSE, "9000").deposit("500").at(NEXT_SLOT, "9300", session="2022-10-04")

    assert start(days.view(NEXT_SLOT)) == ("9500", "0")


@pytest.mark.parametrize("later", ["2022-10-04T03:59:59.999999Z"])
def test_the_day_is_the_exchanges(later: str) -> None:
    assert start(Days().at(SLOT, "9000").view(later))[0] == "9000"
