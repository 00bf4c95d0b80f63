"""What the other books of the account add, at one observation."""

from typing import Any

from services.gate.numbers import exact_arithmetic
from services.gate.rest import Rest, RestSums, sums_of
from shared.protocol.money import Exact
from tests.unit.gate.given import market, policy, quote, working


def summed(rest: Rest, *orders: Any, **seen: Any) -> RestSums:
    rules = policy()
    with exact_arithmetic():
        return sums_of(rest, orders, market(rules, *seen.pop("quotes", ()), **seen))


def test_buys_add_to_what_is_held_whatever_stands_between_them() -> None:
    rest = Rest(Exact(500), {"AAA:USD": Exact(3)})
    orders = (
        working("BUY", "4", "99", name="o1", of="beta", filled="1"),
        working("SELL", "2", "103", name="o2", of="beta"),
        working("BUY", "5", "101", name="o3", of="gamma"),
        working("BUY", "2", "51", "BBB", name="o4", of="gamma"),
    )
    found = summed(rest, *orders)

    # 3 × 100, then 3 × 100 (the reference is above the limit), 5 × 101 and 2 × 51
    assert (found.value, found.exposure) == (Exact(800), Exact(300 + 300 + 505 + 102))
    assert found.positions == {"AAA:USD": 3 + 3 + 5, "BBB:USD": 2}


def test_without_a_price_of_a_holding_neither_value_nor_exposure_is_known() -> None:
    found = summed(Rest(Exact(500), {"AAA:USD": Exact(3)}), quotes=(quote(last=None),))

    assert (found.value, found.exposure) == (None, None)


def test_a_buy_in_a_currency_without_any_rate_makes_the_exposure_unknown_and_stays_so() -> None:
    unknown, known = working("BUY", "1", "40", "BHP", of="beta", fx="0"), working("BUY", "1", "99", of="beta", name="o2")
    found = summed(Rest(Exact(500)), unknown, known, fx={})

    assert (found.value, found.exposure) == (Exact(500), None)
