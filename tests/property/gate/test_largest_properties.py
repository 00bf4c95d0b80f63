"""`largest` against brute force: the largest of all quantities that pass."""

from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from shared.protocol.market import ProposedOrder
from tests.property.gate.strategies import Case, cases, orders

MOST = 75
"""More shares than 3,000 in cash buy and than are held at prices of 48.50 and more, rates of 0.9 and more."""


@given(cases(cheap=True), orders(most=MOST))
def test_largest_is_the_largest_quantity_that_passes(case: Case, order: ProposedOrder) -> None:
    (decision,) = case.judge(order).decisions
    assume(decision.largest is not None)

    passing = [shares for shares in range(1, MOST) if case.judge(replace(order, quantity=str(shares))).decisions[0].approved]

    assert decision.largest == max(passing, default=0)


@given(cases(cheap=True), st.lists(orders(most=20), max_size=3), orders(most=MOST))
def test_it_is_that_of_the_simulated_book(case: Case, before: list[ProposedOrder], order: ProposedOrder) -> None:
    batch = [replace(row, side=order.side) for row in before]
    last = case.judge(*batch, order).decisions[-1]
    assume(last.index == len(batch) + 1 and last.largest is not None)

    if last.largest:
        assert case.judge(*batch, replace(order, quantity=str(last.largest))).decisions[-1].approved
    more = replace(order, quantity=str((last.largest or 0) + 1))
    assert not case.judge(*batch, more).decisions[-1].approved
