"""The auditor's part about protection: breaches of halts, kill switch and liquidations are reported, a clean one is not."""

from typing import Any

import pytest

from tests.unit.support.test_checker import (
    BUY,
    LIMITS,
    ORDER,
    RUN,
    SELL,
    Row,
    approving,
    audited,
    clean,
    filling,
    observed,
    quote,
    sealed,
    trade,
)


def breaches(rows: list[list[Any]]) -> list[str]:
    """What is reported of a log."""
    return audited(sealed(rows)).breaches


EXIT_ROW = {**SELL, "quantity": "10"}
K1 = "r-alpha-k1"


def liquidation(**other: Any) -> list[list[Any]]:
    """A book of 10 shares bought at 100 is halted and sold out at 99, 1 % below the price."""
    seen = observed(quote("AAA")) | {"purpose": "liquidation", "ticks": {"AAA:USD": "0.01"}, "positions": {"AAA:USD": "10"}}
    halt = {"scope": "alpha", "kind": "full", "liquidate": True, "reason": "drill"}
    order = f"{K1}-1"
    verdict = approving(order, EXIT_ROW, f"executor:MarketObserved:{K1}") | {"kind": "liquidation"}
    rows = {
        "halt": ["desk", "HaltOrdered", None, halt],
        "seen": ["executor", "MarketObserved", K1, seen],
        "verdict": ["gate", "Verdict", K1, verdict],
        "sent": ["executor", "OrderIntended", K1, {**EXIT_ROW, "order": order}],
        "placed": ["executor", "OrderPlaced", K1, {"order": order}],
        "fill": ["executor", "FillSettled", K1, filling(order, EXIT_ROW, "99", "989")],
        "closed": ["executor", "OrderClosed", K1, {"order": order, "filled": "10"}],
        "settled": ["executor", "RunSettled", K1, {}],
    }
    return [*clean()[:2], *trade(RUN, ORDER, BUY, "100", "-1001"), *({**rows, **other}).values()]


def test_a_clean_liquidation_is_no_breach() -> None:
    assert breaches(liquidation()) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"halt": ["desk", "HaltReset", None, {"scope": "alpha"}]},
            "begins to sell what neither a halt nor an operator wants sold",
        ),
        (
            {"seen": ["executor", "MarketObserved", K1, {**liquidation()[11][3], "positions": {"AAA:USD": "9"}}]},
            "sells SELL 10 of AAA:USD, 9 can be sold",
        ),
        (
            {"seen": ["executor", "MarketObserved", K1, {**liquidation()[11][3], "sessions": {"SMART": {"open": False}}}]},
            "is closed",
        ),
        (
            {"seen": ["executor", "MarketObserved", K1, {**liquidation()[11][3], "quotes": [quote("AAA", "99.5")]}]},
            "the price is 99.5",
        ),
        ({"placed": ["desk", "HaltOrdered", None, {"scope": "alpha", "kind": "full", "liquidate": False}]}, None),
        ({"settled": ["agent", "RunEnded", K1, {"status": "ok"}]}, "ends a run that the desk caused"),
    ],
)
def test_a_liquidation_that_is_not_as_it_must_be_is_reported(change: dict[str, Any], said: str | None) -> None:
    found = breaches(liquidation(**change))
    assert (any(said in line for line in found)) if said else found == []


def test_an_order_sent_after_a_halt_that_came_behind_its_approval_is_reported() -> None:
    rows = clean()
    halt = ["desk", "HaltOrdered", None, {"scope": "_desk", "kind": "full", "liquidate": False}]
    rows.insert(5, halt)
    assert [line for line in breaches(rows) if "although a halt came after its approval" in line]


def test_an_order_approved_under_a_halt_is_reported() -> None:
    halt = ["desk", "HaltOrdered", None, {"scope": "_desk", "kind": "reduce_only", "liquidate": False}]
    rows = clean()
    rows.insert(2, halt)
    assert [line for line in breaches(rows) if "approves BUY AAA:USD under a halt" in line]


@pytest.mark.parametrize(
    ("value", "said"), [("7000", "trips on 1 observations"), ("7501", "trips at 7501 of the peak 10000"), ("10001", "trips at")]
)
def test_a_kill_switch_on_one_observation_or_above_its_limit_is_reported(value: str, said: str) -> None:
    valued = {"value": "7000", "peak": "10000", "breach": {"count": 1}}
    tripped = {
        "scope": "alpha",
        "kind": "full",
        "liquidate": True,
        "cause": "kill_switch",
        "value": value,
        "peak": "10000",
        "evidence": [f"executor:MarketObserved:{RUN}"],
    }
    rows = [*clean(), ["gate", "BookValued", RUN, valued], ["gate", "HaltTripped", RUN, tripped]]
    rows[0] = [
        "desk",
        "PolicyAdopted",
        None,
        {"policy": {**rows[0][3]["policy"], "limits": {**LIMITS, "drawdown_confirmations": 2}}},
    ]
    assert [line for line in breaches(rows) if said in line]


@pytest.mark.parametrize("breach", [{"count": 1}, None])
def test_a_valuation_whose_breach_is_not_what_its_numbers_say_is_reported(breach: Row | None) -> None:
    value = "7501" if breach else "7500"
    rows = [*clean(), ["gate", "BookValued", RUN, {"value": value, "peak": "10000", "breach": breach}]]
    assert [line for line in breaches(rows) if "says breach" in line]
