"""`[policy.account]`: limits over the sum of all books, orders of the batch and reservations of other books included."""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from services.gate.books import BookView
from services.gate.rest import Rest
from shared.protocol.money import Exact
from shared.protocol.policy import AccountLimits, Policy
from shared.protocol.reasons import Rule
from tests.unit.gate.given import book, decided, judged, market, numbers, order, policy, quote, rules_of, why, working

ALL = Exact(100)


def account(limits: Mapping[str, Any] | None = None, **account_limits: Any) -> Policy:
    """No limit of the single book is in the way."""
    own = {"max_position_pct": ALL, "max_trades_per_month": 1000, **(limits or {})}
    stated: dict[str, Any] = {
        name: Exact(str(value)) if name.endswith("pct") else value for name, value in account_limits.items()
    }
    return replace(policy(**own), account=AccountLimits(**stated))


def beside(cash: str, *others: Any, holdings: dict[str, str] | None = None, used_day: int = 0, **fields: Any) -> BookView:
    """A book of 10,000 in cash, beside others."""
    held = {key: Exact(shares) for key, shares in (holdings or {}).items()}
    return book("10000", others=others, rest=Rest(Exact(cash), held, used_day), **fields)


@pytest.mark.parametrize(("quantity", "rules"), [("39", ()), ("40", ()), ("41", (Rule.POSITION,))])
def test_a_position_is_that_of_all_books_over_the_value_of_all_books(quantity: str, rules: tuple[Rule, ...]) -> None:
    # together 10000 + 4001 + 60 × 100 = 20001; (60 + 40) × 100 is half of 20001 − 1
    on = beside("4001", holdings={"AAA:USD": "60"})

    assert rules_of(decided(order(quantity=quantity), rules=account(max_position_pct="50"), on=on)) == rules


def test_the_largest_purchase_keeps_within_the_accounts_position() -> None:
    on = beside("4001", holdings={"AAA:USD": "60"})
    decision = decided(order(quantity="41"), rules=account(max_position_pct="50"), on=on)

    assert str(decision.largest) == "40"
    # 10100 of 20000
    assert numbers(why(decision, Rule.POSITION)) == ("50", "50.5", "40")
    assert "of the account's value after the fee (20000)" in why(decision, Rule.POSITION).message


def test_what_other_books_may_still_buy_counts_toward_the_position() -> None:
    # 20 of 30 are still to come: (20 + q) × 100 ≤ 20000 / 4, less the fee
    on = beside("10000", working("BUY", "30", "99", filled="10", of="beta"))

    assert str(decided(order(quantity="60"), rules=account(max_position_pct="25"), on=on).largest) == "29"


def test_what_other_books_sell_does_not() -> None:
    on = beside("10000", working("SELL", "30", "102", of="beta"))

    assert str(decided(order(quantity="60"), rules=account(max_position_pct="25"), on=on).largest) == "49"


@pytest.mark.parametrize(("quantity", "rules"), [("19", ()), ("20", ()), ("21", (Rule.GROSS_EXPOSURE,))])
def test_exposure_is_that_of_all_books_with_their_buys_at_work(quantity: str, rules: tuple[Rule, ...]) -> None:
    # held 60 × 50 = 3000 and 50 × 100 at work, limit below the reference; 3000 + 5000 + 2000 is half of 20000
    on = beside("7000", working("BUY", "50", "99", of="beta"), holdings={"BBB:USD": "60"})

    assert rules_of(decided(order(quantity=quantity), rules=account(max_gross_pct="50"), on=on)) == rules


def test_exposure_is_told_with_the_accounts_numbers() -> None:
    on = beside("7000", working("BUY", "50", "101", of="beta"), holdings={"BBB:USD": "60"})
    decision = decided(order(quantity="20"), rules=account(max_gross_pct="50"), on=on)

    # 3000 + 5050 + 2000 of 20000; 1950 are left
    assert numbers(why(decision, Rule.GROSS_EXPOSURE)) == ("50", "50.25", "19")
    assert str(decision.largest) == "19"
    assert why(decision, Rule.GROSS_EXPOSURE).message == (
        "exposure would be 10050, 50.25 % of the account's value 20000; at most 50 % pass"
    )


def test_the_tighter_of_both_limits_gives_the_largest() -> None:
    both = account({"max_gross_pct": Exact(30)}, max_gross_pct="20")
    decision = decided(order(quantity="60"), rules=both, on=beside("10000"))

    # 30 shares of the book's 10000, 40 of the account's 20000
    assert (str(decision.largest), numbers(why(decision, Rule.GROSS_EXPOSURE))[0]) == ("30", "30")
    both = account({"max_position_pct": Exact(60)}, max_position_pct="20")
    assert str(decided(order(quantity="70"), rules=both, on=beside("10000")).largest) == "39"


def test_orders_approved_earlier_in_the_batch_count() -> None:
    rules = account(max_gross_pct="20", max_position_pct="20", max_orders_per_day=3)
    first, second = judged(
        order(quantity="30"), order(quantity="20", symbol="BBB", limit="50"), rules=rules, on=beside("10000")
    ).decisions
    assert (first.approved, second.approved) == (True, True)
    decision = judged(
        order(quantity="30"), order(quantity="21", symbol="BBB", limit="50"), rules=rules, on=beside("10000")
    ).decisions[1]
    assert (rules_of(decision), str(decision.largest)) == ((Rule.GROSS_EXPOSURE,), "20")


@pytest.mark.parametrize(("own", "others", "rules"), [(1, 1, ()), (2, 1, (Rule.DAILY_ORDERS,)), (0, 3, (Rule.DAILY_ORDERS,))])
def test_orders_of_the_day_are_those_of_all_books(own: int, others: int, rules: tuple[Rule, ...]) -> None:
    on = beside("10000", used_day=others, used_month=0)
    decision = decided(order(), rules=account(max_orders_per_day=3), on=replace(on, used_day=own))

    assert rules_of(decision) == rules
    if rules:
        assert numbers(why(decision, Rule.DAILY_ORDERS)) == ("3", "4", "0")
        assert why(decision, Rule.DAILY_ORDERS).message == "order 4 of the account's day, at most 3 pass"
        assert str(decision.largest) == "0"


def test_an_exit_is_counted_but_passes_where_the_policy_exempts_it() -> None:
    on = beside("10000", used_day=9, holdings=None)
    on = replace(on, holdings={"AAA:USD": Exact(5)})

    assert decided(order("SELL"), rules=account(max_orders_per_day=3), on=on).approved
    strict = account({"exits_exempt": False}, max_orders_per_day=3)
    assert rules_of(decided(order("SELL"), rules=strict, on=on)) == (Rule.DAILY_ORDERS,)


def test_exits_pass_whatever_the_account_holds() -> None:
    on = replace(beside("0", holdings={"AAA:USD": "500"}), holdings={"AAA:USD": Exact(5)})

    assert decided(order("SELL", "5"), rules=account(max_position_pct="1", max_gross_pct="1"), on=on).approved


@pytest.mark.parametrize(("limit", "rule"), [("max_position_pct", Rule.POSITION), ("max_gross_pct", Rule.GROSS_EXPOSURE)])
def test_an_account_of_unknown_worth_blocks_buys(limit: str, rule: Rule) -> None:
    on = beside("10000", holdings={"ZZZ:USD": "1"})
    decision = decided(order(), rules=replace(account(), account=replace(AccountLimits(), **{limit: ALL})), on=on)

    assert (rules_of(decision), str(decision.largest)) == ((rule,), "0")
    assert numbers(why(decision, rule)) == ("100", None, "0")
    assert "unknown" in why(decision, rule).message
    assert decided(order(), rules=account(), on=on).approved


def test_a_buy_of_another_book_without_any_rate_makes_the_exposure_unknown() -> None:
    on = beside("10000", working("BUY", "1", "40", "BHP", of="beta", fx="0"))
    rules = account(max_gross_pct="100")

    assert rules_of(decided(order(), rules=rules, on=on, seen=market(rules, fx={}))) == (Rule.GROSS_EXPOSURE,)
    assert rules_of(decided(order(), rules=rules, on=on)) == ()


def test_a_buy_of_another_book_without_a_price_counts_at_its_own_limit_and_rate() -> None:
    rules = account(max_gross_pct="50")
    on = beside("10000", working("BUY", "200", "40", "BHP", of="beta", fx="0.5"))
    seen = market(rules, quote("BHP", None, "AUD"), fx={})

    # 200 × 40 × 0.5 = 4000 of 10000
    assert str(decided(order(quantity="70"), rules=rules, on=on, seen=seen).largest) == "60"
