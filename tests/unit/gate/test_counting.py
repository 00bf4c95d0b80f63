"""Counting: the month is that of the policy's zone, by event time."""

from services.gate.books import book_view
from shared.ledger.periods import month_of
from shared.protocol.events import OrderWithheld
from shared.protocol.market import Side
from shared.protocol.policy import Limits
from shared.protocol.reasons import Withheld
from tests.support.scribe import Scribe
from tests.unit.gate.given import policy

SYDNEY, NEW_YORK = "Australia/Sydney", "America/New_York"
SEPTEMBER_30 = "2022-09-30T14:30:00.000000Z"
"""30 September, 10:30 in New York: 1 October, 00:30 in Sydney."""


def used(scribe: Scribe, zone: str, at: str) -> tuple[int, int]:
    view = book_view(scribe.state, policy(month_timezone=zone), "alpha", at)
    return view.used_month, view.used_day


def approved(zone: str, count: int = 2) -> tuple[Scribe, tuple[str, ...]]:
    """A book with orders approved at 10:30 in New York on 30 September."""
    scribe = Scribe().open_desk("alpha", policy=policy(month_timezone=zone))
    scribe.clock("slot", SEPTEMBER_30, ("alpha",), session="2022-09-30")
    run = scribe.start_run("alpha")
    return scribe, scribe.approve(run, *(("AAA", Side.BUY, "1", f"{100 + index}") for index in range(count)))


def test_the_default_zone_is_sydney() -> None:
    assert Limits().month_timezone == SYDNEY


def test_30_september_in_new_york_is_october_in_sydney() -> None:
    assert month_of(SEPTEMBER_30, SYDNEY) == "2022-10"
    assert month_of(SEPTEMBER_30, NEW_YORK) == "2022-09"


def test_orders_approved_then_count_in_october_in_sydney() -> None:
    scribe, _ = approved(SYDNEY)

    assert used(scribe, SYDNEY, SEPTEMBER_30) == (2, 2)
    assert used(scribe, SYDNEY, "2022-10-31T12:59:59.999999Z") == (2, 0)
    assert used(scribe, SYDNEY, "2022-10-31T13:00:00.000000Z") == (0, 0)


def test_in_new_york_they_count_in_september() -> None:
    scribe, _ = approved(NEW_YORK)

    assert used(scribe, NEW_YORK, "2022-10-01T03:59:59.999999Z") == (2, 2)
    assert used(scribe, NEW_YORK, "2022-10-01T04:00:00.000000Z") == (0, 0)


def test_a_withheld_order_gives_its_count_back() -> None:
    scribe, orders = approved(SYDNEY)
    scribe.write("executor", OrderWithheld(orders[0], Withheld.UNFUNDED, "no cash"), orders[0], book="alpha")

    assert used(scribe, SYDNEY, SEPTEMBER_30) == (1, 1)
