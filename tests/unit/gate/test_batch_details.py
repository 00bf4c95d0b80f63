"""Details of the simulated book that only show behind several orders, and reasons of orders that a person must agree to."""

from typing import Any

import pytest

from services.gate.batch import cost_of
from services.gate.books import BookView
from services.gate.candidate import Candidate
from services.gate.numbers import exact_arithmetic
from services.gate.rest import Rest
from shared.protocol.money import Exact
from shared.protocol.reasons import Rule
from tests.unit.gate.given import book, decided, judged, numbers, order, policy, rules_of, why, working
from tests.unit.gate.test_account_limits import account
from tests.unit.gate.test_bounds import placed

ALL = Exact(100)


def test_every_order_of_a_batch_adds_to_the_exposure() -> None:
    rules = policy(max_position_pct=ALL, max_gross_pct=Exact(30))
    batch = [
        order(quantity="10"),
        order(quantity="10", symbol="BBB", limit="50"),
        order(quantity="40", symbol="BBB", limit="50.5"),
    ]
    third = judged(*batch, rules=rules).decisions[2]

    # 1000 and 500 of 3000 are taken: 29.7 × 50.5 are left
    assert (rules_of(third), str(third.largest)) == ((Rule.GROSS_EXPOSURE,), "29")


def test_a_sell_leaves_unknown_cash_unknown() -> None:
    on = book("10000", holdings={"AAA:USD": "10"}, reserves=False)
    sell, buy = judged(order("SELL", "1"), order("BUY", "1", symbol="BBB", limit="50"), on=on).decisions

    assert sell.approved
    assert rules_of(buy) == (Rule.CASH,)


def test_a_trade_with_oneself_names_order_and_book() -> None:
    on = book(holdings={"AAA:USD": "10"})
    _, buy = judged(order("BUY", "1", "100"), order("SELL", "1", "100"), on=on).decisions

    assert why(buy, Rule.SELF_TRADE).message == ("it would trade with our own SELL 20221003T1030-alpha-1-2 of book alpha at 100")


def test_only_a_sell_crosses_a_buy() -> None:
    on = book(others=(working("BUY", "5", "101", of="beta"),))

    assert decided(order("BUY", "1", "100"), on=on).crosses is None


@pytest.mark.parametrize("name", ["quantity", "limit", "price", "fx", "notional", "commission"])
def test_an_order_of_which_a_number_is_unknown_cannot_be_approved(name: str) -> None:
    with exact_arithmetic():
        made, _ = placed()
        cost_of(made)
        setattr(made, name, None)
        with pytest.raises(ValueError, match=r"^order 1 \(BHP:AUD\) cannot be approved: not all of its numbers are known$"):
            cost_of(made)


def test_a_duplicate_of_a_fraction_is_one_step_less() -> None:
    rules = policy(allow_fractional=True)
    on = book("10000", working("SELL", "5.5", "100"), holdings={"AAA:USD": "11"})

    assert str(decided(order("SELL", "6"), rules=rules, on=on).largest) == "5.49999999"


def test_the_accounts_position_has_what_the_books_own_buys_may_still_bring() -> None:
    on = book("10000", working("BUY", "20", "99"), rest=Rest(Exact(10_000)))

    # (20 + q) × 100 ≤ 5000 − fee ÷ 4
    assert str(decided(order(quantity="60"), rules=account(max_position_pct="25"), on=on).largest) == "29"


def at_broker(positions: dict[str, str], *others: Any) -> BookView:
    shares = {key: Exact(number) for key, number in positions.items()}
    return book(holdings={"AAA:USD": "10"}, at_broker=shares, reconciled=False, others=others)


@pytest.mark.parametrize(
    ("on", "largest"),
    [
        (at_broker({"AAA:USD": "8"}), "8"),
        (at_broker({}), "0"),
        (at_broker({"AAA:USD": "8"}, working("SELL", "3", "103", of="beta")), "5"),
        (at_broker({"AAA:USD": "2"}, working("SELL", "3", "103", of="beta")), "0"),
    ],
)
def test_while_reconciliation_fails_an_exit_is_capped_by_what_the_broker_has_to_sell(on: BookView, largest: str) -> None:
    assert str(decided(order("SELL", "10"), on=on).largest) == largest


def test_an_order_above_the_line_says_line_and_worth() -> None:
    reason = why(decided(order(quantity="10"), rules=policy(approval_above=Exact(999))), Rule.APPROVAL)

    assert numbers(reason) == ("999", "1000", None)
    assert reason.message == "worth 1000 USD: needs approval above 999"


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        ("approve", "the proposal carries the mark untrusted: its BUYs need approval"),
        ("deny", "the proposal carries the mark untrusted, and the policy denies its BUYs"),
    ],
)
def test_a_mark_says_what_it_leads_to(mode: str, told: str) -> None:
    assert why(decided(order(), rules=policy(untrusted=mode), untrusted=True), Rule.UNTRUSTED).message == told


def test_of_a_candidate_that_was_only_read_nothing_is_known() -> None:
    made = Candidate(3, order())

    unknown = ("exchange", "instrument", "quote", "price", "fx", "schedule", "gross", "fee", "notional", "commission")
    assert [getattr(made, name) for name in unknown] == [None] * len(unknown)
    assert (made.index, made.held, made.quantity, made.limit) == (3, Exact(0), Exact(1), Exact(100))
    assert not made.exits


@pytest.mark.parametrize(
    ("quantity", "limit"),
    [
        ("0", "100"),
        ("-1", "100"),
        ("1", "0"),
        ("1", "-5"),
        ("1.123456789", "100"),
        ("1", "100.123456789"),
        (None, "1"),
        ("1", None),
    ],
)
def test_what_is_no_order_has_no_worth_and_no_cost(quantity: str | None, limit: str | None) -> None:
    decision = decided(order(quantity=quantity, limit=limit))

    assert (decision.notional, decision.commission, decision.approved) == (None, None, False)


def test_every_buy_at_work_holds_back_its_own() -> None:
    on = book("1000", working("BUY", "2", "100"), working("BUY", "4", "50", "BBB", name="o2"))
    decision = decided(order(quantity="7"), rules=policy(max_position_pct=ALL), on=on)

    # 1000 − 201 − 201
    assert numbers(why(decision, Rule.CASH)) == ("598", "701", "5")


def test_a_books_own_exposure_is_told_of_the_book() -> None:
    decision = decided(order(quantity="21"), rules=policy(max_position_pct=ALL, max_gross_pct=Exact(20)))

    assert why(decision, Rule.GROSS_EXPOSURE).message == (
        "exposure would be 2100, 21 % of the book's value 10000; at most 20 % pass"
    )
