"""`rule_breaker`: one order a session that the gate must block, cycling by session index."""

import pytest

from services.agent.sources.rule_breaker import RuleBreaker
from shared.protocol.reasons import StopReason
from tests.unit.agent.views import view

PRICES = {"BBB": "50", "AAA": "33.37", "CCC": "70"}


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (0, ("ZZZZ", "BUY", "1", "10")),
        (1, ("AAA", "BUY", "1", "36.7")),  # 33.37 × 1.10 = 36.707, rounded down to 36.70
        (2, ("AAA", "BUY", "179", "33.37")),  # 0.6 × 10,000 / 33.37 = 179.8
        (3, ("AAA", "BUY", "1.5", "33.37")),
        (4, ("AAA", "BUY", "0", "33.37")),
        (5, ("AAA", "SELL", "1", "33.37")),
        (6, ("ZZZZ", "BUY", "1", "10")),
        (7, ("AAA", "BUY", "1", "36.7")),
    ],
)
def test_it_proposes_one_order_of_its_cycle_on_the_alphabetically_first_name(
    index: int, expected: tuple[str, str, str, str]
) -> None:
    proposal = RuleBreaker().propose(view(PRICES, index=index))

    assert [(order.symbol, order.side, order.quantity, order.limit) for order in proposal.orders] == [expected]
    assert [order.currency for order in proposal.orders] == ["USD"]
    assert proposal.stop_reason is StopReason.SUBMITTED


def test_sixty_percent_of_a_value_that_divides_evenly_is_not_rounded_away() -> None:
    proposal = RuleBreaker().propose(view({"AAA": "60"}, index=2, value="10000"))

    assert proposal.orders[0].quantity == "100"


def test_the_short_sale_takes_a_name_that_is_not_held() -> None:
    proposal = RuleBreaker().propose(view(PRICES, index=5, held={"AAA": "3"}))

    assert [(order.symbol, order.side, order.limit) for order in proposal.orders] == [("BBB", "SELL", "50")]


@pytest.mark.parametrize("index", [1, 2, 3, 4, 5])
def test_without_a_price_it_holds_and_says_so(index: int) -> None:
    proposal = RuleBreaker().propose(view(PRICES | {"AAA": None}, index=index))

    assert proposal.orders == ()
    assert proposal.stop_reason is StopReason.HELD
    assert "AAA:USD" in proposal.summary


def test_without_a_value_it_holds_on_the_turn_that_needs_it_only() -> None:
    turns = [RuleBreaker().propose(view(PRICES, index=index, value=None)).stop_reason for index in range(6)]

    assert [turn is StopReason.HELD for turn in turns] == [False, False, True, False, False, False]
