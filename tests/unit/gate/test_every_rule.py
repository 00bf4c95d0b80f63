"""Every rule of the registry is tested inside its limit, at it, over it, and with what it needs unknown.

The registry decides what must stand in the table: a rule that is added without its row fails here.
"""

from typing import Any, Final

import pytest

from services.gate.rules.registry import REGISTRY
from shared.protocol.reasons import Rule
from tests.unit.gate.rule_table import NEVER_UNKNOWN, TABLE

CASES: Final = [(rule, where) for rule, row in TABLE.items() for where in row]


def test_every_rule_of_the_registry_has_its_row() -> None:
    assert list(TABLE) == [row.rule for row in REGISTRY]


@pytest.mark.parametrize("row", REGISTRY, ids=[row.rule for row in REGISTRY])
def test_a_row_has_what_the_registry_says_of_its_rule(row: Any) -> None:
    wanted = {"inside", "over"} | ({"at"} if row.boundary else set()) | (set() if row.rule in NEVER_UNKNOWN else {"unknown"})

    assert set(TABLE[row.rule]) == wanted


@pytest.mark.parametrize("row", REGISTRY, ids=[row.rule for row in REGISTRY])
def test_inside_passes_over_is_blocked_by_the_rule_and_at_is_as_the_registry_says(row: Any) -> None:
    cases = TABLE[row.rule]
    at_limit = cases["at"][1] if "at" in cases else None

    assert cases["inside"][1] == ()
    assert cases["over"][1] == (row.rule,)
    if at_limit is not None:
        assert at_limit == ((row.rule,) if "block" in row.boundary or "cross" in row.boundary else ())


@pytest.mark.parametrize(("rule", "where"), CASES, ids=[f"{rule} {where}" for rule, where in CASES])
def test_an_order_is_judged_as_its_row_says(rule: Rule, where: str) -> None:
    judge, rules = TABLE[rule][where]
    decision = judge()

    assert tuple(reason.rule for reason in decision.reasons) == rules
    assert decision.approved is not bool(rules)
