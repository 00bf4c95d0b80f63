"""Orders at work on the account, and orders that a person must agree to."""

import pytest

from shared.protocol.money import Exact
from shared.protocol.reasons import Rule
from tests.unit.gate.given import book, decided, judged, numbers, order, policy, rules_of, why, working


@pytest.mark.parametrize(
    ("proposed", "rules"),
    [
        (order("BUY", "5", "99"), (Rule.DUPLICATE,)),
        (order("BUY", "5.0", "99.00"), (Rule.DUPLICATE,)),
        (order("BUY", "4", "99"), ()),
        (order("BUY", "5", "99.01"), ()),
        (order("SELL", "5", "99.5"), ()),
        (order("BUY", "5", "49.5", "BBB"), ()),
    ],
)
def test_the_same_instrument_side_quantity_and_limit_at_work_is_a_duplicate(proposed, rules) -> None:
    on = book("10000", working("BUY", "5", "99", filled="2"), holdings={"AAA:USD": "10"})

    assert rules_of(decided(proposed, on=on)) == rules


def test_another_books_order_is_no_duplicate() -> None:
    on = book(others=(working("BUY", "5", "99", of="beta"),))

    assert rules_of(decided(order("BUY", "5", "99"), on=on)) == ()


def test_an_order_repeated_in_one_batch_is_a_duplicate() -> None:
    first, second = judged(order(), order()).decisions

    assert rules_of(first) == ()
    assert rules_of(second) == (Rule.DUPLICATE,)


@pytest.mark.parametrize(("limit", "rules"), [("100.99", ()), ("101", (Rule.SELF_TRADE,)), ("101.01", (Rule.SELF_TRADE,))])
@pytest.mark.parametrize("of", ["alpha", "beta"])
def test_a_buy_does_not_meet_a_sell_of_any_book_and_equal_prices_cross(of: str, limit: str, rules: tuple[Rule, ...]) -> None:
    sell = working("SELL", "5", "101", of=of)
    on = book("10000", sell) if of == "alpha" else book(others=(sell,))

    assert rules_of(decided(order(limit=limit), on=on)) == rules


def test_a_buy_does_not_meet_a_sell_approved_earlier_in_its_batch() -> None:
    on = book(holdings={"AAA:USD": "10"})
    sell, buy = judged(order("BUY", "1", "100"), order("SELL", "1", "100"), on=on).decisions

    assert rules_of(sell) == ()
    assert rules_of(buy) == (Rule.SELF_TRADE,)
    assert numbers(why(buy, Rule.SELF_TRADE)) == ("100", "100", None)


def test_an_exit_beats_an_entry_and_names_the_buy_that_it_would_meet() -> None:
    mine, theirs = working("BUY", "5", "99", name="mine"), working("BUY", "5", "99.5", name="theirs", of="beta")
    on = book("10000", mine, others=(theirs,), holdings={"AAA:USD": "10"})

    low, high = (decided(order("SELL", "1", limit), on=on) for limit in ("98.5", "99.5"))
    above = decided(order("SELL", "1", "99.51"), on=on)

    assert (low.approved, low.crosses) == (True, "theirs")
    assert (high.approved, high.crosses) == (True, "theirs")
    assert (above.approved, above.crosses) == (True, None)


@pytest.mark.parametrize(("above", "asked"), [("1000.01", False), ("1000", False), ("999.99", True), ("0", True)])
@pytest.mark.parametrize("side", ["BUY", "SELL"])
def test_an_order_above_the_threshold_needs_approval(side: str, above: str, asked: bool) -> None:
    rules = policy(approval_above=Exact(above))
    decision = decided(order(side, "10"), rules=rules, on=book(holdings={"AAA:USD": "10"}))

    assert decision.needs_approval is asked
    assert decision.approved is not asked
    assert tuple(reason.rule for reason in decision.reasons) == ((Rule.APPROVAL,) if asked else ())
    assert decision.largest is None


def test_what_needs_approval_is_neither_counted_nor_reserved() -> None:
    rules = policy(approval_above=Exact(500), max_trades_per_month=1)
    result = judged(order(quantity="10"), order(quantity="2"), rules=rules)

    assert [decision.needs_approval for decision in result.decisions] == [True, False]
    assert result.decisions[1].approved
    assert (str(result.after().cash), result.after().used_month) == ("9799", 1)


def test_a_blocked_order_needs_no_approval() -> None:
    decision = decided(order(quantity="50"), rules=policy(approval_above=Exact(500)))

    assert rules_of(decision) == (Rule.POSITION,)
    assert not decision.needs_approval


@pytest.mark.parametrize(
    ("mode", "approved", "asked"), [("allow", True, False), ("approve", False, True), ("deny", False, False)]
)
def test_a_buy_of_an_untrusted_proposal_is_handled_as_the_policy_says(mode: str, approved: bool, asked: bool) -> None:
    decision = decided(order(), rules=policy(untrusted=mode), untrusted=True)

    assert (decision.approved, decision.needs_approval) == (approved, asked)
    assert [reason.rule for reason in decision.reasons] == ([] if approved else [Rule.UNTRUSTED])
    assert decided(order(), rules=policy(untrusted=mode), untrusted=False).approved


def test_a_denied_order_passes_at_no_quantity_whatever_else_is_wrong_with_it() -> None:
    decision = decided(order(quantity="50"), rules=policy(untrusted="deny"), untrusted=True)

    assert rules_of(decision) == (Rule.POSITION, Rule.UNTRUSTED)
    assert str(decision.largest) == "0"


@pytest.mark.parametrize("mode", ["approve", "deny"])
def test_a_sell_of_an_untrusted_proposal_passes(mode: str) -> None:
    sell = order("SELL", "1")

    assert decided(sell, rules=policy(untrusted=mode), on=book(holdings={"AAA:USD": "1"}), untrusted=True).approved
