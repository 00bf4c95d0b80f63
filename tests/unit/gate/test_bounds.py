"""Each bound by itself: solved from its rule, in the order's own currency, and silent about what is unknown."""

from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from services.gate.batch import Batch
from services.gate.books import BookView
from services.gate.candidate import Candidate, read_amount
from services.gate.numbers import exact_arithmetic
from services.gate.rest import Rest
from services.gate.rules import bounds, limits
from services.gate.valuation import value_book
from shared.protocol.market import ProposedOrder
from shared.protocol.money import Exact
from shared.protocol.policy import AccountLimits, Commission, Policy
from shared.protocol.reasons import Rule
from tests.unit.gate.given import USD_FEES, book, decided, market, order, policy, rules_of, why, working

AUD = Commission("AUD", Exact("0.01"), Exact(5), Exact(2))
BHP = order(quantity="50", limit="40", symbol="BHP", currency="AUD")
ALL = Exact(100)


def placed(proposed: ProposedOrder = BHP, on: BookView | None = None, **stated: Any) -> tuple[Candidate, Batch]:
    """An order beside the batch that it is judged in; AUD at 0.65."""
    rules: Policy = policy(**{"max_position_pct": ALL, "fees": (USD_FEES, AUD), **stated})
    seen, held = market(rules), on or book()
    batch = Batch(rules, held, seen, value_book(held.cash, held.holdings, seen), False)
    return batch.candidate(1, proposed), batch


def bound(rule: Any, proposed: ProposedOrder = BHP, on: BookView | None = None, without: str = "", **stated: Any) -> str | None:
    """What a rule lets pass; with `without` the order lacks something that is unknown then."""
    with exact_arithmetic():
        made, batch = placed(proposed, on, **stated)
        if without:
            setattr(made, without, None)
        found = rule(made, batch)
    return None if found is None else f"{found.normalize():f}"


@pytest.mark.parametrize(
    ("cash", "expected"),
    [
        # 26 q + 0.65 × fee: 2 % of 40 is 0.8 up to 6.25 shares, then 5, from 500 shares on 0.01 a share
        ("26.51", "0"),
        ("26.52", "1"),
        ("159.12", "6"),
        ("185.24", "6"),
        ("185.25", "7"),
        ("13003.24", "499"),
        ("13003.25", "500"),
        ("13029.25", "500"),
        ("13029.2565", "501"),
    ],
)
def test_cash_is_solved_on_each_piece_of_a_foreign_commission(cash: str, expected: str) -> None:
    assert bound(bounds.cash, on=book(cash)) == expected


def test_what_an_order_lacks_gives_no_bound() -> None:
    on = book("1000", holdings={"BBB:USD": "1"})
    stated: dict[str, Any] = {"max_order_notional": Exact(100), "max_gross_pct": Exact(50), "min_cash_pct": Exact(1)}
    every = (bounds.cash, bounds.cash_reserve, bounds.position, bounds.order_notional, bounds.gross_exposure)

    assert all(bound(rule, on=on, **stated) is not None for rule in every)
    assert [bound(rule, on=on, without="schedule", **stated) for rule in every[:3]] == [None] * 3
    assert [bound(rule, on=on, without="fx", **stated) for rule in every] == [None] * 5
    assert [bound(rule, on=on, without="limit", **stated) for rule in every] == [None] * 5
    assert [bound(rule, on=on, without="price", **stated) for rule in every[2:]] == [None] * 3
    assert bound(bounds.cash, order(limit="0", quantity="1"), on=on) is None


def test_notional_and_exposure_are_in_base_currency() -> None:
    # 26 each
    assert bound(bounds.order_notional, max_order_notional=Exact(104)) == "4"
    assert bound(bounds.gross_exposure, on=book("1000"), max_gross_pct=Exact("10.4")) == "4"


@pytest.mark.parametrize(
    ("rule", "given", "expected"),
    [
        (bounds.holding, {"proposed": order("SELL", "9"), "on": book(holdings={"AAA:USD": "4.5"})}, "4.5"),
        (bounds.order_notional, {"max_order_notional": Exact(13)}, "0.5"),
        (bounds.gross_exposure, {"on": book("1000"), "max_gross_pct": Exact("1.3")}, "0.5"),
        (bounds.cash, {"on": book("13.26")}, "0.5"),  # 13 and 2 % of it
        (bounds.cash_reserve, {"on": book("26.52"), "min_cash_pct": Exact(50)}, "0.5"),
    ],
)
def test_fractions_are_bounded_where_the_policy_allows_them(rule: Any, given: dict[str, Any], expected: str) -> None:
    assert bound(rule, allow_fractional=True, **given) == expected


def test_what_is_at_work_on_the_account_is_not_offered_twice() -> None:
    on = book(holdings={"AAA:USD": "10"}, others=(working("BUY", "5", "90", of="beta"),), rest=Rest(Exact(100)))
    made, batch = placed(order("SELL", "9"), on)

    assert batch.account_position("AAA:USD") == 10
    assert batch.account_position("BBB:USD") == 0
    assert batch.account_exposure() is None
    assert made.held == 10


@pytest.mark.parametrize("text", ["+NaN", "-nan", "-Infinity", "+inf", "--nan"])
def test_what_is_no_number_is_said_to_be_none(text: str) -> None:
    found = read_amount(text)

    assert (found.value, found.fault) == (None, f"is {text}, not a finite number")


def test_a_quantity_at_the_bounds_of_an_order_keeps_its_value_beside_its_fault() -> None:
    with exact_arithmetic():
        low, high, fine = (read_amount(text) for text in ("-1000000000", "1000000000", "999999999.99999999"))

    told = "has more than 9 digits before or 8 after the point"
    assert low == (Exact(-1_000_000_000), f"-1000000000 {told}")
    assert high == (Exact(1_000_000_000), f"1000000000 {told}")
    assert fine == (Exact("999999999.99999999"), None)


def test_a_share_of_nothing_is_called_unknown() -> None:
    # a fee of 1 against a value of 0.50: nothing is left after it
    on = book("0.5")
    decision = decided(order(quantity="1", limit="1", symbol="VOD", currency="GBP"), on=on, rules=policy(fees=(_flat("GBP"),)))

    assert "would be an unknown percentage of the book's value after the fee (-0.6)" in why(decision, Rule.POSITION).message


def _flat(currency: str) -> Commission:
    return Commission(currency, Exact(0), Exact(1), ALL)


def test_foreign_text_in_a_message_is_cut_to_32_characters() -> None:
    decision = decided(order(symbol="X" * 40))

    assert f"'{'X' * 32}' in 'USD' is not in the universe" in why(decision, Rule.INSTRUMENT).message


def test_a_fraction_of_a_second_counts() -> None:
    from datetime import timedelta

    from services.gate.rules.evidence import _seconds

    with exact_arithmetic():
        assert _seconds(timedelta(microseconds=1)) == Decimal("0.000001")
        assert _seconds(timedelta(days=20_000_000, microseconds=3)) == Decimal("1728000000000.000003")


@pytest.mark.parametrize("without", ["quantity", "limit", "price", "fx"])
@pytest.mark.parametrize("rule", [limits.order_notional, limits.gross_exposure, limits.position])
def test_a_rule_is_silent_about_an_order_of_which_something_is_unknown(rule: Any, without: str) -> None:
    tight: dict[str, Any] = {"max_order_notional": Exact(1), "max_gross_pct": Exact(1), "max_position_pct": Exact(1)}
    with exact_arithmetic():
        made, batch = placed(**tight)
        assert rule(made, batch) is not None
        if (rule, without) == (limits.position, "limit"):
            return
        setattr(made, without, None)
        assert rule(made, batch) is None


def test_values_of_foreign_orders_are_told_in_base_currency() -> None:
    tight: dict[str, Any] = {"max_order_notional": Exact(1000), "max_gross_pct": Exact(10), "max_position_pct": ALL}
    decision = decided(BHP, rules=policy(**tight))

    # 50 × 40 × 0.65 = 1300 of 10000
    assert (why(decision, Rule.ORDER_NOTIONAL).value, why(decision, Rule.GROSS_EXPOSURE).value) == (Exact(1300), Exact(13))


def test_a_foreign_position_of_the_account_is_valued_in_base_currency() -> None:
    rules = replace(policy(max_position_pct=ALL, fees=(USD_FEES, AUD)), account=AccountLimits(max_position_pct=Exact(10)))
    on = book(rest=Rest(Exact(3500), {"BHP:AUD": Exact(50)}))

    # 14800 in all; 1300 are held, 26 each: 180 − the tenth of the fee of 0.65 × 5 … are left
    assert str(decided(BHP, rules=rules, on=on).largest) == "6"


def test_what_the_book_may_have_the_account_may_still_refuse() -> None:
    rules = replace(policy(max_position_pct=ALL, max_gross_pct=Exact(90)), account=AccountLimits(max_gross_pct=Exact(20)))
    decision = decided(order(quantity="50"), rules=rules, on=book(rest=Rest(Exact(10_000))))

    assert (rules_of(decision), str(decision.largest)) == ((Rule.GROSS_EXPOSURE,), "40")
    rules = replace(policy(max_position_pct=Exact(90)), account=AccountLimits(max_position_pct=Exact(20)))
    decision = decided(order(quantity="50"), rules=rules, on=book(rest=Rest(Exact(10_000))))
    assert (rules_of(decision), str(decision.largest)) == ((Rule.POSITION,), "39")


def test_a_book_of_unknown_value_has_no_bound_of_its_own_on_a_position() -> None:
    with exact_arithmetic():
        made, batch = placed(order(), book("1000", holdings={"ZZZ:USD": "1"}))
        assert batch.value is None
        assert bounds.position_caps(made, batch) == ()
        assert bounds.position(made, batch) is None
