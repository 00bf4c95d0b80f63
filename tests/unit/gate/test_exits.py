"""Liquidation: what is sold, at which limit, and what stands against it."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from services.gate.books import BookView, book_view
from services.gate.exits import Exit, exit_limit, exits_of, liquidate
from services.gate.market import Market, observed_market
from services.gate.numbers import exact_arithmetic
from shared.ledger.state import LedgerOrder, OrderState
from shared.protocol.events import Decision
from shared.protocol.market import Side
from shared.protocol.money import ZERO, Exact
from shared.protocol.policy import Policy
from shared.protocol.reasons import Rule
from tests.support.scribe import POLICY, SLOT, USD
from tests.unit.gate.walk import Walk, observed

RUN = "20221003T1030-alpha-k1"
CENT = {"AAA:USD": Decimal("0.01"), "BBB:USD": Decimal("0.01"), "ZZZ:USD": Decimal("0.01")}


@pytest.mark.parametrize(
    ("reference", "tick", "unfilled", "collar", "limit"),
    [
        ("100", "0.01", 0, "2", "99"),
        ("100", "0.01", 1, "2", "98"),
        ("100", "0.01", 9, "2", "90"),
        ("100", "0.01", 10, "2", "90"),  # 5 × 2 %
        ("100", "0.01", 3, "0.5", "97.5"),  # 5 × 0.5 %
        ("100", "0.01", 0, "0.1", "99"),  # the first attempt is 1 % below whatever the collar
        ("33.33", "0.01", 0, "2", "32.99"),  # 32.9967
        ("33.33", "0.05", 0, "2", "32.95"),
        ("0.5", "0.01", 0, "2", "0.49"),  # 0.495
        ("0.01", "0.01", 0, "2", "0.01"),  # at least one tick
        ("0.004", "0.01", 5, "2", "0.01"),
        ("10", "0.03", 0, "2", "9.9"),
        ("7", "0.03", 0, "2", "6.93"),
    ],
)
def test_the_limit_is_a_percent_below_the_reference_and_one_more_per_unfilled_attempt(
    reference: str, tick: str, unfilled: int, collar: str, limit: str
) -> None:
    with exact_arithmetic():
        assert exit_limit(Decimal(reference), Decimal(tick), unfilled, Decimal(collar)) == Exact(limit)


PRICES = st.decimals(Decimal("0.0001"), Decimal(100_000), places=4)


@given(PRICES, st.sampled_from(["0.0001", "0.01", "0.05", "1"]), st.integers(0, 30), st.sampled_from(["0.1", "2", "20"]))
def test_a_limit_is_on_the_tick_at_least_one_and_never_below_the_widest(
    reference: Decimal, tick_text: str, unfilled: int, collar: str
) -> None:
    tick = Decimal(tick_text)
    with exact_arithmetic():
        limit = exit_limit(reference, tick, unfilled, Decimal(collar))
        widest = max(Decimal(1), 5 * Decimal(collar))
        assert limit % tick == 0
        assert limit >= tick
        assert limit == tick or limit <= reference * 99 / 100
        assert limit > reference * (100 - widest) / 100 - tick


def exits(
    held: dict[str, str],
    pending: dict[str, str] | None = None,
    everywhere: dict[str, str] | None = None,
    at_broker: dict[str, str] | None = None,
    baseline: dict[str, str] | None = None,
) -> dict[str, str]:
    """Shares to sell by key."""
    own = numbers(pending or {})
    found = exits_of(
        numbers(held),
        own,
        numbers(everywhere) if everywhere is not None else own,
        None if at_broker is None else numbers(at_broker),
        numbers(baseline or {}),
        {},
    )
    return {row.key: str(row.shares) for row in found}


def numbers(texts: dict[str, str]) -> dict[str, Decimal]:
    return {key: Decimal(text) for key, text in texts.items()}


@pytest.mark.parametrize(
    ("case", "shares"),
    [
        ({"held": {"A": "10"}, "at_broker": {"A": "10"}}, {"A": "10"}),
        ({"held": {"B": "1", "A": "2"}, "at_broker": {"A": "2", "B": "1"}}, {"A": "2", "B": "1"}),
        ({"held": {"A": "10.75"}, "at_broker": {"A": "10.75"}}, {"A": "10"}),
        ({"held": {"A": "0.99"}, "at_broker": {"A": "0.99"}}, {}),
        ({"held": {"A": "10"}, "at_broker": {"A": "7.5"}}, {"A": "7"}),
        ({"held": {"A": "10"}, "at_broker": {"A": "25"}}, {"A": "10"}),
        ({"held": {"A": "10"}, "at_broker": {}}, {"A": "0"}),
        ({"held": {"A": "10"}, "at_broker": {"A": "-3"}}, {"A": "0"}),
        ({"held": {"A": "10"}, "at_broker": None}, {"A": "0"}),
        ({"held": {"A": "10"}, "pending": {"A": "4"}, "at_broker": {"A": "10"}}, {"A": "6"}),
        ({"held": {"A": "10"}, "pending": {"A": "10"}, "at_broker": {"A": "10"}}, {}),
        ({"held": {"A": "10"}, "pending": {}, "everywhere": {"A": "3"}, "at_broker": {"A": "11"}}, {"A": "8"}),
        ({"held": {"A": "10"}, "at_broker": {"A": "110"}, "baseline": {"A": "102"}}, {"A": "8"}),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_is_sold_is_the_whole_shares_that_both_the_book_and_the_broker_have_to_sell(
    case: dict[str, Any], shares: dict[str, str]
) -> None:
    assert exits(**case) == shares


def test_at_most_99_holdings_are_sold_at_once_the_rest_at_the_next_attempt() -> None:
    held = {f"S{n:03}": "1" for n in range(120)}
    assert list(exits(held, at_broker=held)) == sorted(held)[:99]


def sold(
    held: dict[str, str],
    prices: dict[str, str],
    *,
    policy: Policy = POLICY,
    view: BookView | None = None,
    ticks: dict[str, Decimal] | None = None,
    at_broker: str | None = None,
    **session: Any,
) -> tuple[Decision, ...]:
    """A liquidation's decisions for a book of this policy."""
    seen = observed("liquidation", SLOT, prices, **session)
    market: Market = observed_market(SLOT, seen, policy)
    found = tuple(Exit(key, Exact(held[key]), Exact(held[key] if at_broker is None else at_broker), 0) for key in sorted(held))
    made = view or viewed(held, policy)
    return liquidate(policy, made, market, found, CENT if ticks is None else ticks, RUN).decisions


def viewed(held: dict[str, str], policy: Policy = POLICY, **other: Any) -> BookView:
    plain = book_view(Walk(policy).state, policy, "alpha", SLOT)
    return replace(plain, holdings=numbers(held), **other)


def why(row: Decision) -> list[Rule]:
    return [reason.rule for reason in row.reasons]


def test_one_sell_per_holding_by_key_with_the_ids_of_its_run() -> None:
    first, second = sold({"AAA:USD": "10", "BBB:USD": "3"}, {"AAA": "100", "BBB": "50"})
    assert (first.symbol, first.side, first.quantity, first.limit, first.order) == (
        "AAA",
        "SELL",
        Exact(10),
        Exact(99),
        f"{RUN}-1",
    )
    assert (second.symbol, second.quantity, second.limit, second.order) == ("BBB", Exact(3), Exact("49.5"), f"{RUN}-2")


def test_limits_duplicates_and_approval_do_not_hold_an_exit_back() -> None:
    # the month is used up, the fee is 1 of 9.9 (10.1 %), every order needs approval, and the very same order is at work
    limits = replace(
        POLICY.limits,
        max_trades_per_month=0,
        max_orders_per_day=0,
        exits_exempt=False,
        approval_above=ZERO,
        max_price_deviation_pct=Exact("0.5"),
        max_order_notional=Exact(1),
    )
    policy = replace(POLICY, limits=limits, commission=(replace(USD, maximum_pct=Exact(100)),))
    view = viewed({"AAA:USD": "20"}, policy, working=(working(Side.SELL, "1", "9.9"),))
    (row,) = sold({"AAA:USD": "1"}, {"AAA": "10"}, policy=policy, view=view)
    assert (row.approved, row.needs_approval, row.limit) == (True, False, Exact("9.9"))


def test_an_exit_beats_an_entry_the_buy_that_it_would_cross_is_named() -> None:
    view = viewed({"AAA:USD": "10"}, others=(working(Side.BUY, "5", "99"),))
    (row,) = sold({"AAA:USD": "10"}, {"AAA": "100"}, view=view)
    assert (row.approved, row.crosses) == (True, "20221003T1030-mo-1-1")


def working(side: Side, quantity: str, limit: str) -> LedgerOrder:
    run = "20221003T1030-mo-1"
    return LedgerOrder(
        f"{run}-1", "mo", run, "AAA", "USD", side, Exact(quantity), Exact(limit), Exact(1), USD, ("", ""), OrderState.WORKING
    )


@pytest.mark.parametrize(
    ("case", "rules"),
    [
        ({"prices": {"BBB": "50"}}, [Rule.QUOTE]),
        ({"prices": {"AAA": "100"}, "is_open": False}, [Rule.SESSION]),
        ({"prices": {"AAA": "100"}, "closes_at": "2022-10-03T14:44:59.000000Z"}, [Rule.SESSION]),
        ({"prices": {"AAA": "100"}, "ticks": {}}, [Rule.LIMIT_PRICE]),
        ({"prices": {"AAA": "100"}, "at_broker": "0"}, [Rule.HOLDING]),
        ({"prices": {"AAA": "100"}, "policy": replace(POLICY, commission=())}, [Rule.COMMISSION]),
    ],
    ids=["no price", "closed", "closes soon", "no tick", "not at the broker", "no fees known"],
)
def test_form_evidence_and_holding_stand_against_an_exit(case: dict[str, Any], rules: list[Rule]) -> None:
    (row,) = sold({"AAA:USD": "10"}, **case)
    assert (row.approved, why(row), row.order) == (False, rules, None)


def test_a_holding_without_a_price_keeps_the_others_from_nothing() -> None:
    blocked, approved = sold({"AAA:USD": "10", "BBB:USD": "3"}, {"BBB": "50"})
    assert (why(blocked), approved.approved) == ([Rule.QUOTE], True)


def test_a_name_that_left_the_universe_is_sold_where_it_was_bought() -> None:
    view = viewed({"ZZZ:USD": "10"}, exchanges={"ZZZ:USD": "SMART"})
    (row,) = sold({"ZZZ:USD": "10"}, {"ZZZ": "10"}, view=view)
    assert (row.approved, row.limit) == (True, Exact("9.9"))


def test_more_than_is_left_after_pending_sells_is_blocked_all_the_same() -> None:
    view = viewed({"AAA:USD": "10"}, working=(replace(working(Side.SELL, "4", "120"), book="alpha"),))
    (row,) = sold({"AAA:USD": "10"}, {"AAA": "100"}, view=view)
    assert (row.approved, why(row)) == (False, [Rule.HOLDING])


HELD = st.dictionaries(st.sampled_from("ABCDE"), st.decimals(Decimal("0.01"), Decimal(500), places=2), max_size=5)


@given(HELD, HELD, HELD, HELD, HELD)
def test_nothing_is_ever_oversold_in_the_book_or_at_the_broker(
    held: dict[str, Decimal],
    own: dict[str, Decimal],
    others: dict[str, Decimal],
    positions: dict[str, Decimal],
    baseline: dict[str, Decimal],
) -> None:
    everywhere = {key: own.get(key, Decimal(0)) + others.get(key, Decimal(0)) for key in {*own, *others}}
    for row in exits_of(held, own, everywhere, positions, baseline, {}):
        assert row.shares % 1 == 0
        assert row.shares + own.get(row.key, Decimal(0)) <= held[row.key]
        left = positions.get(row.key, Decimal(0)) - baseline.get(row.key, Decimal(0)) - everywhere.get(row.key, Decimal(0))
        assert row.shares <= max(left, Decimal(0))
