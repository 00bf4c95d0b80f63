"""A verdict fits into an event whatever a proposal holds."""

from typing import Any

import pytest
from msgspec.structs import replace

from services.gate.fit import MAX_VERDICT_BYTES, fitted
from shared.protocol.envelope import canonical
from shared.protocol.events import MAX_EVENT_BYTES, Verdict
from shared.protocol.market import ProposedOrder
from shared.protocol.money import Exact
from tests.unit.gate.given import NOW, RUN, book, judged, order, policy


def verdict(*orders: ProposedOrder, **given: Any) -> Verdict:
    result = judged(*orders, **given)
    block = result.block.reasons if result.block else ()
    return Verdict("proposal", result.decisions, block, result.value, result.drawdown_pct, "p" * 64, "1", ("e" * 60,), NOW)


def test_a_verdict_that_fits_stays_as_it_is() -> None:
    found = verdict(order(), order(quantity="50"))

    assert fitted(found) is found or fitted(found) == found


@pytest.mark.parametrize(
    "bad",
    [
        ProposedOrder("𝕏" * 32, "𝕐" * 32, "ℤ" * 32, "NaN", "NaN", "", "𝕎" * 32),
        ProposedOrder("ZZZZ", "USD", "HOLD", "9" * 64, "9" * 64, "", "NYSE"),
        ProposedOrder("AAA", "USD", "BUY", "999999999", "999999999", ""),
    ],
)
def test_99_orders_with_every_fault_fit(bad: ProposedOrder) -> None:
    rules = policy(max_order_notional=Exact(1), max_gross_pct=Exact(1), min_cash_pct=Exact(99), max_orders_per_day=0)
    found = verdict(*[bad] * 99, rules=rules, on=book(used_month=10))
    small = fitted(found)

    assert len(canonical(found)) > MAX_VERDICT_BYTES
    assert len(canonical(small)) <= MAX_VERDICT_BYTES < MAX_EVENT_BYTES
    assert len(small.decisions) == 99
    assert all(decision.reasons for decision in small.decisions)
    assert [decision.largest for decision in small.decisions] == [decision.largest for decision in found.decisions]


def test_approved_orders_keep_all_that_the_executor_needs() -> None:
    rules = policy(max_trades_per_month=200, min_cash_pct=Exact(1), max_gross_pct=Exact(1), max_order_notional=Exact(1000))
    orders = [order("BUY", "1", f"{98 + index / 100}") for index in range(40)] + [order("BUY", "50000", "150")] * 59
    found = replace(verdict(*orders, rules=rules, on=book("1000000")), policy_hash="p" * 10_000)
    small = fitted(found)

    assert small != found
    assert [decision for decision in small.decisions if decision.approved] == [row for row in found.decisions if row.approved]
    assert small.decisions[0].order == f"{RUN}-1"
