"""The table of rules, and the view of an observation."""

import pytest

from services.gate.market import observed_market, usable_rate
from services.gate.rules import ACCOUNT, EVIDENCE, FORM, IDENTITY, LIMITS
from services.gate.rules.registry import REGARDLESS_OF_QUANTITY, REGISTRY, Group
from shared.protocol.events import MarketObserved
from shared.protocol.market import ExchangeSession
from shared.protocol.money import Exact
from shared.protocol.reasons import Rule
from tests.unit.gate.given import NOW, policy, quote


def test_every_rule_stands_in_the_table_once() -> None:
    assert [row.rule for row in REGISTRY] == list(dict.fromkeys(row.rule for row in REGISTRY))
    assert {row.rule for row in REGISTRY} == set(Rule)


@pytest.mark.parametrize(
    ("group", "functions"),
    [
        (Group.IDENTITY, IDENTITY),
        (Group.FORM, FORM),
        (Group.EVIDENCE, EVIDENCE),
        (Group.LIMITS, LIMITS),
        (Group.ACCOUNT, ACCOUNT),
    ],
)
def test_a_rules_function_has_its_name_and_the_tables_order(group: Group, functions: tuple[object, ...]) -> None:
    names = [getattr(function, "__name__", "") for function in functions]

    assert names == [row.rule.value for row in REGISTRY if row.group is group]


def test_rules_that_a_smaller_order_may_pass_are_never_taken_for_hopeless() -> None:
    by_quantity = {
        Rule.FINITE,
        Rule.QUANTITY,
        Rule.WHOLE_SHARES,
        Rule.COMMISSION_SHARE,
        Rule.HOLDING,
        Rule.CASH,
        Rule.CASH_RESERVE,
        Rule.POSITION,
        Rule.ORDER_NOTIONAL,
        Rule.GROSS_EXPOSURE,
        Rule.DUPLICATE,
    }

    assert set(Rule) - by_quantity == REGARDLESS_OF_QUANTITY


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        ("0.65", "0.65"),
        ("0.1234567890125", "0.123456789012"),
        ("0.0000000000004", None),
        ("0", None),
        ("-1", None),
        ("999999.999999", "999999.999999"),
        ("1000000", None),
    ],
)
def test_a_rate_is_held_with_12_decimals_and_must_be_above_0(rate: str, expected: str | None) -> None:
    found = usable_rate(Exact(rate))

    assert (None if found is None else str(found)) == expected


def test_an_observation_is_read_as_it_stands() -> None:
    hours = ExchangeSession(True, "2022-10-03", "2022-10-03T13:30:00.000000Z", "2022-10-03T14:50:00.000000Z")
    seen = MarketObserved("run", (quote(bid="99", ask="101"),), {}, {"AUD": Exact("0.65")}, {"smart": hours})
    view = observed_market(NOW, seen, policy())

    assert view.price("AAA:USD") == 100
    assert view.price("BBB:USD") is None
    assert view.rates == {"AUD": Exact("0.65"), "USD": Exact(1)}
    left = view.left("SMART")
    assert left is not None
    assert left.total_seconds() == 1200
    assert view.left("ASX") is None
