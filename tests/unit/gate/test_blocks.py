"""What blocks a whole batch before any order of it is judged."""

from typing import Any

import pytest

from services.gate.blocks import FULL, REDUCE_ONLY
from shared.protocol.money import Exact
from shared.protocol.reasons import Rule
from tests.unit.gate.given import book, halt, judged, market, numbers, order, policy, quote, rules_of

HELD = {"AAA:USD": "10"}


def both(rules: Any = None, **fields: Any) -> Any:
    """A SELL that passes and a BUY that would, on a book of 9000 in cash and 10 AAA at 100."""
    return judged(order("BUY", "1", "50", "BBB"), order("SELL", "1"), rules=rules, on=book("9000", holdings=HELD, **fields))


def blocked(result: Any) -> tuple[Rule, ...]:
    """What blocks BUYs; the block says the same as each blocked order, and SELLs pass."""
    sell, buy = result.decisions
    assert sell.approved
    if result.block is None:
        assert buy.approved
        return ()
    assert result.block.kind == REDUCE_ONLY
    assert buy.reasons == result.block.reasons
    assert str(buy.largest) == "0"
    return rules_of(buy)


def test_nothing_blocks_a_book_in_order() -> None:
    assert blocked(both(peak=10000)) == ()


def test_a_full_halt_blocks_every_order() -> None:
    result = both(halts=(halt(FULL),))

    assert result.block is not None
    assert result.block.kind == FULL
    assert [rules_of(decision) for decision in result.decisions] == [(Rule.HALT,), (Rule.HALT,)]
    assert "operator says so" in result.block.reasons[0].message


def test_a_reduce_only_halt_blocks_buys_and_judges_sells() -> None:
    assert blocked(both(halts=(halt(REDUCE_ONLY),))) == (Rule.HALT,)


def test_a_full_halt_beside_a_reduce_only_one_is_full() -> None:
    result = both(halts=(halt(REDUCE_ONLY), halt(FULL)))

    assert result.block is not None
    assert (result.block.kind, len(result.block.reasons)) == (FULL, 2)


@pytest.mark.parametrize(("peak", "rules"), [("13333.33", ()), ("13333.34", (Rule.DRAWDOWN,)), ("20000", (Rule.DRAWDOWN,))])
def test_a_drawdown_of_the_limit_blocks_buys(peak: str, rules: tuple[Rule, ...]) -> None:
    # value 10000 is 75 % of 13333.333…
    assert blocked(both(peak=peak)) == rules


def test_a_drawdown_of_exactly_25_percent_blocks() -> None:
    result = judged(order(), on=book("7500", peak=10000))

    assert result.block is not None
    assert numbers(result.block.reasons[0]) == ("25", "25", "0")
    assert str(result.drawdown_pct) == "25"


def test_a_book_at_or_above_its_peak_has_no_drawdown() -> None:
    assert str(judged(order(), on=book("10000", peak=10000)).drawdown_pct) == "0"
    assert str(judged(order(), on=book("10000.01", peak=10000)).drawdown_pct) == "0"


@pytest.mark.parametrize(
    ("start", "flows", "rules"),
    [
        ("10526.31", "0", ()),
        ("10526.32", "0", (Rule.DAILY_LOSS,)),
        ("9526.31", "1000", ()),
        ("9526.32", "1000", (Rule.DAILY_LOSS,)),
        ("9000", "0", ()),
    ],
)
def test_a_loss_of_5_percent_since_the_start_of_the_day_blocks_buys(start: str, flows: str, rules: tuple[Rule, ...]) -> None:
    # value 10000 is 95 % of 10526.315…; what was deposited since counts with the start
    given = policy(max_daily_loss_pct=Exact(5))

    assert blocked(both(given, day_start=Exact(start), day_flows=Exact(flows))) == rules


def test_exactly_the_daily_limit_blocks_and_says_so() -> None:
    given = policy(max_daily_loss_pct=Exact(5))
    result = judged(order(), rules=given, on=book("9500", day_start=Exact(10000)))

    assert result.block is not None
    assert numbers(result.block.reasons[0]) == ("5", "5", "0")


def test_without_a_start_the_value_is_the_days_first() -> None:
    assert blocked(both(policy(max_daily_loss_pct=Exact(5)), day_start=None)) == ()


def test_a_holding_without_a_price_makes_the_value_unknown_and_blocks_buys_of_everything() -> None:
    rules = policy()
    seen = market(rules, quote("BBB", None))
    on = book("9000", holdings={"AAA:USD": "10", "BBB:USD": "1"})
    result = judged(order("BUY", "1", symbol="BRK B", limit="300"), order("SELL", "1"), rules=rules, on=on, seen=seen)

    assert blocked(result) == (Rule.VALUATION,)
    assert (result.value, result.drawdown_pct) == (None, None)
    assert "BBB:USD" in result.decisions[1].reasons[0].message


def test_a_holding_without_a_rate_makes_the_value_unknown() -> None:
    rules = policy()
    result = judged(order(), rules=rules, on=book(holdings={"BHP:AUD": "1"}), seen=market(rules, fx={}))

    assert rules_of(result.decisions[0]) == (Rule.VALUATION,)


def test_a_failed_reconciliation_blocks_buys() -> None:
    assert blocked(both(reconciled=False)) == (Rule.RECONCILIATION,)


def test_all_blocks_are_told() -> None:
    given = policy(max_daily_loss_pct=Exact(5))
    result = both(given, halts=(halt(REDUCE_ONLY),), peak=20000, day_start=Exact(20000), reconciled=False)

    assert blocked(result) == (Rule.HALT, Rule.DRAWDOWN, Rule.DAILY_LOSS, Rule.RECONCILIATION)


def test_an_order_that_is_neither_buy_nor_sell_is_told_so_under_a_reduce_only_halt() -> None:
    result = judged(order("HOLD"), on=book(halts=(halt(REDUCE_ONLY),)))

    assert rules_of(result.decisions[0]) == (Rule.SIDE,)


def test_money_that_the_account_owes_blocks_buys_only_where_the_policy_denies_it() -> None:
    assert blocked(both(borrowed=("AUD",))) == ()
    result = both(policy(foreign_currency="deny"), borrowed=("AUD",))
    assert blocked(result) == (Rule.CURRENCY,)
    assert "below 0 in AUD" in result.block.reasons[0].message


@pytest.mark.parametrize(("at_broker", "largest"), [("4", "4"), ("10", None), ("12", None), ("0", "0")])
def test_while_log_and_broker_differ_a_sell_is_capped_at_what_the_broker_has(at_broker: str, largest: str | None) -> None:
    on = book("9000", holdings=HELD, reconciled=False, at_broker={"AAA:USD": Exact(at_broker)})
    (decision,) = judged(order("SELL", "10"), on=on).decisions
    assert decision.approved is (largest is None)
    if largest is not None:
        assert (rules_of(decision), str(decision.largest)) == ((Rule.HOLDING,), largest)


def test_two_sells_of_a_batch_share_what_the_broker_has() -> None:
    on = book("9000", holdings=HELD, reconciled=False, at_broker={"AAA:USD": Exact(7)})
    first, second = judged(order("SELL", "4"), order("SELL", "4", "99.99"), on=on).decisions
    assert (first.approved, second.approved, str(second.largest)) == (True, False, "3")


def test_a_broker_whose_shares_are_unknown_caps_nothing() -> None:
    (decision,) = judged(order("SELL", "10"), on=book("9000", holdings=HELD, reconciled=False)).decisions
    assert decision.approved
