"""The gate as a calculator: files in, one document out."""

import json
from decimal import Decimal

import pytest

from services.gate.calculator import render
from tests.unit.gate.calculating import AT, POLICY, Desk, buy, state, working


def test_an_order_that_passes_is_approved_with_its_cost(desk: Desk) -> None:
    result = desk.check()

    assert len(result.pop("policy_hash")) == 64
    assert result == {
        "value": "10000",
        "drawdown_pct": "0",
        "block": None,
        "decisions": [
            {
                "index": 1,
                "symbol": "AAA",
                "currency": "USD",
                "side": "BUY",
                "quantity": "10",
                "limit": "100",
                "approved": True,
                "notional": "1000",
                "commission": "1",
                "reasons": [],
                "largest": None,
                "needs_approval": False,
            }
        ],
        "after": {
            "cash": "8999",
            "holdings": [{"symbol": "AAA", "currency": "USD", "quantity": "10"}],
            "orders_used": {"month": 1, "day": 1},
        },
    }


def test_an_order_that_is_too_large_says_why_and_what_would_pass(desk: Desk) -> None:
    (decision,) = desk.check(orders=[buy(quantity="25")])["decisions"]

    assert (decision["approved"], decision["largest"]) == (False, "24")
    assert decision["reasons"] == [
        {
            "rule": "position",
            "limit": "25",
            "value": "25.00250025",
            "headroom": "24",
            "message": "AAA:USD would be 25.00250025 % of the book's value after the fee (9999), at most 25 % pass",
        }
    ]


def test_decisions_stand_in_the_order_judged(desk: Desk) -> None:
    held = [{"symbol": "BBB", "currency": "USD", "quantity": "5"}]
    result = desk.check(state(holdings=held), [buy(), buy(symbol="BBB", side="sell", quantity=5, limit=50.5)])

    assert [(row["index"], row["side"], row["limit"]) for row in result["decisions"]] == [(2, "SELL", "50.5"), (1, "BUY", "100")]


def test_numbers_are_taken_exactly_whether_text_or_json_numbers(desk: Desk) -> None:
    text = json.dumps(state()).replace('"10000"', "10000.10")
    (decision,) = desk.check(text, '[{"symbol":"AAA","currency":"USD","side":"BUY","quantity":1e1,"limit":100.10}]')["decisions"]

    assert (decision["quantity"], decision["limit"], decision["notional"]) == ("10", "100.1", "1001")


def test_what_an_order_says_is_judged_not_refused(desk: Desk) -> None:
    orders = [
        buy(quantity="NaN"),
        buy(limit=None),
        buy(side="HOLD"),
        buy(symbol="ZZZZ"),
        {"symbol": "AAA", "currency": "USD", "side": "BUY"},
    ]
    found = [[reason["rule"] for reason in row["reasons"]] for row in desk.check(orders=orders)["decisions"]]

    assert found == [["finite"], ["limit_price"], ["side"], ["instrument"], ["quantity", "limit_price"]]


@pytest.mark.parametrize(("kind", "blocked"), [("full", [False, False]), ("reduce_only", [True, False])])
def test_a_halt_is_told_as_the_block(desk: Desk, kind: str, blocked: list[bool]) -> None:
    held = [{"symbol": "BBB", "currency": "USD", "quantity": "5"}]
    orders = [buy(), buy(symbol="BBB", side="SELL", quantity="5", limit="50")]
    result = desk.check(state(holdings=held, halt={"kind": kind, "reason": "storm"}), orders)

    assert result["block"]["kind"] == kind
    assert [(row["rule"], row["message"]) for row in result["block"]["reasons"]] == [("halt", f"{kind} halt: storm")]
    assert [row["approved"] for row in result["decisions"]] == blocked


def test_a_holding_without_a_quote_makes_the_value_unknown(desk: Desk) -> None:
    result = desk.check(state(holdings=[{"symbol": "OLD", "currency": "USD", "quantity": "1"}]))

    assert (result["value"], result["drawdown_pct"], result["block"]["kind"]) == (None, None, "reduce_only")
    assert [row["rule"] for row in result["block"]["reasons"]] == ["valuation"]


def test_a_daily_loss_counts_from_the_start_given(desk: Desk) -> None:
    desk.policy.write_text(POLICY.replace("[policy.universe]", 'max_daily_loss_pct = "5"\n[policy.universe]'), "utf-8")

    assert desk.check(state(day_start_value="10000", day_flows="500"))["block"] is None
    block = desk.check(state(day_start_value="10000", day_flows="526.32"))["block"]
    assert [row["rule"] for row in block["reasons"]] == ["daily_loss"]
    assert desk.check(state())["block"] is None


def test_working_orders_of_this_book_reserve_and_those_of_all_books_may_cross(desk: Desk) -> None:
    # 10000 − (60 × 100 + 1) leaves 3999
    own = working(quantity="70", filled="10", limit="100", symbol="BBB")
    sell = working(book="beta", side="SELL", limit="100")
    (first,) = desk.check(state(working=[own, sell]), [buy(quantity="40")])["decisions"]
    (second,) = desk.check(state(working=[working(book="beta", quantity="70", limit="100")]), [buy(quantity="20")])["decisions"]

    assert [reason["rule"] for reason in first["reasons"]] == ["cash", "position", "self_trade"]
    assert first["reasons"][0]["limit"] == "3999"
    assert second["approved"]


def test_a_working_buy_without_a_rate_makes_free_cash_unknown(desk: Desk) -> None:
    foreign = working(symbol="BHP", currency="AUD")
    (decision,) = desk.check(state(working=[foreign], fx={}))["decisions"]

    assert [reason["rule"] for reason in decision["reasons"]] == ["cash"]


def test_foreign_cash_at_the_broker_lets_its_currency_be_bought_under_deny(desk: Desk) -> None:
    desk.policy.write_text(POLICY.replace("[policy.universe]", 'foreign_currency = "deny"\n[policy.universe]'), "utf-8")
    order = buy(symbol="BHP", currency="AUD", limit="40")
    found = [
        [reason["rule"] for reason in desk.check(state(foreign_cash=cash), [order])["decisions"][0]["reasons"]]
        for cash in ({"AUD": "1"}, {"AUD": "0"}, {})
    ]

    assert found == [[], ["currency"], ["currency"]]


def test_foreign_cash_below_0_blocks_buying_under_deny(desk: Desk) -> None:
    for word, block in (("deny", "reduce_only"), ("allow", None)):
        desk.policy.write_text(POLICY.replace("[policy.universe]", f'foreign_currency = "{word}"\n[policy.universe]'), "utf-8")
        found = desk.check(state(foreign_cash={"AUD": "-1"}), [buy()])["block"]
        assert (found and found["kind"]) == block


def test_a_holding_that_left_the_universe_is_sold_on_the_exchange_it_was_bought_on(desk: Desk) -> None:
    quotes = [*state()["quotes"], {"symbol": "OLD", "currency": "USD", "last": "10", "kind": "sim", "at": AT}]
    held = {"symbol": "OLD", "currency": "USD", "quantity": "3"}
    order = buy(symbol="OLD", side="SELL", quantity="3", limit="10")

    (known,) = desk.check(state(quotes=quotes, holdings=[{**held, "exchange": "smart"}]), [order])["decisions"]
    (unknown,) = desk.check(state(quotes=quotes, holdings=[held]), [order])["decisions"]

    assert known["approved"]
    assert [reason["rule"] for reason in unknown["reasons"]] == ["session"]


def test_prices_and_rates_that_are_no_numbers_are_unknown(desk: Desk) -> None:
    quotes = [{"symbol": "AAA", "currency": "USD", "last": "NaN", "bid": None, "kind": "sim", "at": AT}]
    (decision,) = desk.check(state(quotes=quotes, fx={"AUD": "NaN"}))["decisions"]

    assert [reason["rule"] for reason in decision["reasons"]] == ["quote"]


def test_times_with_another_offset_are_the_same_moment(desk: Desk) -> None:
    assert desk.check(state(now="2022-10-04T01:30:00+11:00"))["decisions"][0]["approved"]


def test_no_orders_are_a_batch_too(desk: Desk) -> None:
    assert desk.check(orders=[])["decisions"] == []


def test_a_thousand_orders_are_judged(desk: Desk) -> None:
    result = desk.check(orders=[buy(quantity="1", limit=f"{98 + index / 1000:.3f}") for index in range(1000)])

    assert sum(row["approved"] for row in result["decisions"]) == 10


def test_the_result_can_be_read_by_people(desk: Desk) -> None:
    held = [{"symbol": "BBB", "currency": "USD", "quantity": "5"}]
    text = render(
        desk.check(state(holdings=held), [buy(quantity="90"), buy(symbol="BBB", side="SELL", quantity="5", limit="50")])
    )

    assert text.splitlines()[:3] == [
        "value 10250, drawdown 0 %",
        "2. SELL 5 BBB at 50 USD: approved",
        "1. BUY 90 AAA at 100 USD: blocked, largest that would pass: 25",
    ]
    assert text.splitlines()[-1] == "after: cash 10249, orders used 1 this month, 1 today"
    assert "halt: full halt: storm" in render(desk.check(state(halt={"kind": "full", "reason": "storm"})))


def test_orders_of_other_books_at_work_count_toward_the_accounts_limits(desk: Desk) -> None:
    desk.policy.write_text(
        POLICY.replace("[policy.universe]", "[policy.account]\nmax_gross_pct = 50\nmax_orders_per_day = 3\n[policy.universe]")
    )
    theirs = working(book="beta", quantity="30", limit="100")
    # 30 × 100 of 5000 are taken: 20 more are left
    (passes,) = desk.check(state(working=[theirs]), [buy(quantity="20")])["decisions"]
    (over,) = desk.check(state(working=[theirs]), [buy(quantity="21")])["decisions"]
    (third,) = desk.check(state(working=[theirs], orders_used={"month": 2, "day": 2}), [buy()])["decisions"]

    assert passes["approved"]
    assert [(reason["rule"], reason["headroom"]) for reason in over["reasons"]] == [("gross_exposure", "20")]
    assert over["largest"] == "20"
    assert [reason["rule"] for reason in third["reasons"]] == ["daily_orders"]


def test_a_thousand_orders_are_judged_one_by_one_on_what_the_ones_before_left(desk: Desk) -> None:
    wide = "max_trades_per_month = 2000\nmax_position_pct = 100\nmax_commission_pct = 100"
    desk.policy.write_text(POLICY.replace("max_trades_per_month = 10", wide))
    sells = [{**buy(side="SELL", quantity="1"), "limit": f"{100 + row / 1000:.3f}"} for row in range(500)]
    buys = [buy(quantity="1", limit=f"{99 - row / 1000:.3f}") for row in range(500)]
    found = desk.check(state(cash="10000", holdings=[{"symbol": "AAA", "currency": "USD", "quantity": "300"}]), buys + sells)
    decisions = found["decisions"]

    # SELLs first: 300 of 500 are held. They bring 300 × 100 + 0.001 × (0 + … + 299) − 300 = 29744.85, so 39744.85 is free;
    # BUY number k takes 99 − k / 1000 + 0.99 − k / 100000 (1 % is below the minimum of 1)
    assert [row["index"] for row in decisions] == [*range(501, 1001), *range(1, 501)]
    assert [row["approved"] for row in decisions[:500]] == [True] * 300 + [False] * 200
    assert {tuple(why["rule"] for why in row["reasons"]) for row in decisions[300:500]} == {("holding",)}
    free, passing = Decimal("39744.85"), []
    for k in range(500):
        cost = (99 - Decimal(k) / 1000) * Decimal("1.01")
        passing.append(cost <= free)
        free -= cost if cost <= free else 0
    assert [row["approved"] for row in decisions[500:]] == passing
    assert (sum(passing), found["after"]["cash"]) == (sum(row["approved"] for row in decisions[500:]), f"{free.normalize():f}")
