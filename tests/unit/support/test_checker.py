"""The auditor itself: every kind of breach put into a log on purpose is reported, and a clean log is not."""

import hashlib
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from tests.support.checker import Auditor

AT = "2022-10-03T14:30:00.000000Z"
RUN, ORDER, EXIT = "r-alpha-1", "r-alpha-1-1", "r-alpha-2-1"
LIMITS = {"max_price_deviation_pct": "2", "max_position_pct": "25", "max_trades_per_month": 10, "month_timezone": "UTC"}
USD = {"currency": "USD", "per_share": "0.005", "minimum": "1", "maximum_pct": "1"}
UNIVERSE = [{"symbol": symbol, "currency": "USD"} for symbol in ("AAA", "BBB")]
BUY = {"symbol": "AAA", "currency": "USD", "side": "BUY", "quantity": "10", "limit": "101"}
SELL = {**BUY, "side": "SELL", "quantity": "4", "limit": "99"}

Row = dict[str, Any]


def quote(symbol: str, last: str | None = "100") -> Row:
    return {"symbol": symbol, "currency": "USD", "bid": None, "ask": None, "last": last}


def observed(*quotes: Row, is_open: bool = True) -> Row:
    return {"quotes": list(quotes) or [quote("AAA"), quote("BBB")], "fx": {"USD": "1"}, "sessions": {"SMART": {"open": is_open}}}


def approving(order: str, row: Row, evidence: str) -> Row:
    decision = {**row, "index": 1, "approved": True, "needs_approval": False, "reasons": [], "order": order}
    return {"decisions": [decision], "evidence": [evidence], "block": None}


def filling(order: str, row: Row, price: str, effect: str, **other: Any) -> Row:
    fill = {name: row[name] for name in ("symbol", "currency", "side", "quantity")}
    return {
        **fill,
        "order": order,
        "execution": f"x-{order}",
        "price": price,
        "fee": money("1"),
        "fx": "1",
        "cash_effect": effect,
    } | other


def money(amount: str) -> Row:
    return {"amount": amount, "currency": "USD"}


def trade(run: str, order: str, row: Row, price: str, effect: str) -> list[list[Any]]:
    """One run: observed, proposed, approved, sent, filled whole, closed, ended."""
    seen = f"executor:MarketObserved:{run}"
    return [
        ["executor", "MarketObserved", run, observed()],
        ["agent", "ProposalMade", run, {"orders": [row]}],
        ["gate", "Verdict", run, approving(order, row, seen)],
        ["executor", "OrderIntended", run, {**row, "order": order}],
        ["executor", "OrderPlaced", run, {"order": order}],
        ["executor", "FillSettled", run, filling(order, row, price, effect)],
        ["executor", "OrderClosed", run, {"order": order, "filled": row["quantity"]}],
        ["agent", "RunEnded", run, {"status": "ok"}],
    ]


def clean() -> list[list[Any]]:
    """A book of 10,000 buys 10 shares at 100 with a fee of 1, then sells 4 at 100."""
    return [
        ["desk", "PolicyAdopted", None, {"policy": {"limits": LIMITS, "universe": UNIVERSE, "commission": [USD]}}],
        ["desk", "CashDeposited", None, {"amount": "10000"}],
        *trade(RUN, ORDER, BUY, "100", "-1001"),
        *trade("r-alpha-2", EXIT, SELL, "100", "399"),
    ]


def sealed(rows: list[list[Any]]) -> list[tuple[str, Row]]:
    """Envelopes with counters and links, as (subject, event)."""
    tips: dict[str, tuple[int, str | None]] = {}
    made = []
    for service, kind, run, data in rows:
        n, prev = tips.get(service, (0, None))
        event = {
            "id": f"{service}:{kind}:{run}", "type": kind, "book": "alpha", "run": run, "at": AT, "by": {"service": service},
            "n": n + 1, "prev": prev, "data": data,
        }  # fmt: skip
        tips[service] = (n + 1, hashlib.sha256(json.dumps(event).encode()).hexdigest())
        made.append((f"ev.{service}.alpha.{kind}", event))
    return made


def audited(events: list[tuple[str, Row]]) -> Auditor:
    auditor = Auditor()
    for subject, event in events:
        auditor.read(subject, json.dumps(event).encode())
    return auditor


def first(rows: list[list[Any]], kind: str, run: str = RUN) -> int:
    return next(at for at, row in enumerate(rows) if row[1] == kind and row[2] == run)


def put(kind: str, run: str = RUN, **fields: Any) -> Callable[[list[list[Any]]], None]:
    """Changes fields of an event's data."""

    def change(rows: list[list[Any]]) -> None:
        rows[first(rows, kind, run)][3].update(fields)

    return change


def leave_out(kind: str, run: str = RUN) -> Callable[[list[list[Any]]], None]:
    def change(rows: list[list[Any]]) -> None:
        del rows[first(rows, kind, run)]

    return change


def twice(kind: str, run: str = RUN) -> Callable[[list[list[Any]]], None]:
    def change(rows: list[list[Any]]) -> None:
        at = first(rows, kind, run)
        rows.insert(at, rows[at])

    return change


def trades(row: Row, order: str = ORDER, run: str = RUN, **decided: Any) -> Callable[[list[list[Any]]], None]:
    """Another order is proposed, decided and sent."""

    def change(rows: list[list[Any]]) -> None:
        rows[first(rows, "ProposalMade", run)][3]["orders"] = [row]
        rows[first(rows, "Verdict", run)][3].update(approving(order, {**row, **decided}, f"executor:MarketObserved:{run}"))
        rows[first(rows, "OrderIntended", run)][3].update(row)

    return change


def test_a_clean_log_has_no_breach_and_its_books_add_up() -> None:
    auditor = audited(sealed(clean()))
    auditor.against_broker({"AAA:USD": Decimal(6)}, Decimal(999_398), Decimal(1_000_000))

    # 10000 − (10 × 100 + 1) + (4 × 100 − 1) = 9398
    assert auditor.breaches == []
    assert (auditor.books["alpha"].cash, dict(auditor.books["alpha"].held)) == (Decimal(9398), {"AAA:USD": Decimal(6)})
    assert (auditor.approvals, auditor.blocks, auditor.fills) == (2, 0, 2)


BREACHES: list[tuple[Callable[[list[list[Any]]], None], str]] = [
    (leave_out("Verdict"), "OrderIntended:r-alpha-1: is sent without an approving verdict"),
    (leave_out("Verdict"), "FillSettled:r-alpha-1: fills an order that is not open"),
    (leave_out("Verdict"), "OrderClosed:r-alpha-1: closes an order that is not open"),
    (leave_out("Verdict"), "RunEnded:r-alpha-1: ends a run whose proposal has no verdict"),
    (leave_out("ProposalMade"), "Verdict:r-alpha-1: judges what nobody proposed"),
    (leave_out("MarketObserved"), "Verdict:r-alpha-1: names no observation that it rests on"),
    (put("MarketObserved", quotes=[quote("BBB")]), "Verdict:r-alpha-1: cannot be followed"),
    (put("MarketObserved", quotes=[quote("AAA", None)]), "Verdict:r-alpha-1: cannot be followed"),
    (twice("OrderIntended"), "OrderIntended:r-alpha-1: is sent twice"),
    (leave_out("OrderIntended"), "FillSettled:r-alpha-1: fills an order that was never sent"),
    (put("OrderIntended", quantity="11"), "OrderIntended:r-alpha-1: differs from what was approved"),
    (put("OrderIntended", side="SELL"), "OrderIntended:r-alpha-1: differs from what was approved"),
    (put("Verdict", decisions=[]), "Verdict:r-alpha-1: does not decide every proposed order once"),
    (trades(BUY, quantity="9"), "Verdict:r-alpha-1: approves 9 at 101, proposed were 10 at 101"),
    (trades({**BUY, "quantity": "0.5"}), "Verdict:r-alpha-1: approves quantity 0.5 at 101"),
    (trades({**BUY, "symbol": "ZZZ"}), "Verdict:r-alpha-1: buys ZZZ:USD, which is not in the universe"),
    (trades({**BUY, "limit": "102.01"}), "Verdict:r-alpha-1: limit 102.01 is outside the collar around 100"),
    (trades({**SELL, "limit": "97.99"}, EXIT, "r-alpha-2"), "r-alpha-2: limit 97.99 is outside the collar around 100"),
    (put("MarketObserved", **observed(is_open=False)), "Verdict:r-alpha-1: approves while the exchange is closed"),
    # 25 × 100 = 25 % of 10000, of which the fee takes 1
    (trades({**BUY, "quantity": "25"}), "Verdict:r-alpha-1: takes AAA:USD over 25 % of 10000"),
    (trades({**SELL, "quantity": "11"}, EXIT, "r-alpha-2"), "Verdict:r-alpha-2: sells 11 of AAA:USD, more than held"),
    (put("FillSettled", "r-alpha-2", quantity="11"), "FillSettled:r-alpha-2: leaves -1 of AAA:USD"),
    (put("FillSettled", quantity="11"), "FillSettled:r-alpha-1: fills more than was ordered"),
    (put("FillSettled", price="101.01"), "FillSettled:r-alpha-1: fills at 101.01, beyond the limit 101"),
    (put("FillSettled", "r-alpha-2", price="98.99"), "FillSettled:r-alpha-2: fills at 98.99, beyond the limit 99"),
    (put("FillSettled", price="0"), "FillSettled:r-alpha-1: fills at 0, beyond the limit 101"),
    (put("FillSettled", cash_effect="-1000"), "FillSettled:r-alpha-1: has cash effect -1000"),
    (put("FillSettled", symbol="BBB"), "FillSettled:r-alpha-1: fills another instrument or side than was approved"),
    (twice("FillSettled"), "FillSettled:r-alpha-1: books an execution twice"),
    (put("OrderClosed", filled="9"), "OrderClosed:r-alpha-1: says 9 filled, the fills say 10"),
    (leave_out("FillSettled"), "OrderClosed:r-alpha-1: says 10 filled, the fills say 0"),
    (twice("OrderClosed"), "OrderClosed:r-alpha-1: closes an order that is not open"),
]


@pytest.mark.parametrize(("change", "told"), BREACHES, ids=[f"{at} {told}" for at, (_, told) in enumerate(BREACHES)])
def test_a_breach_put_into_the_log_is_reported(change: Callable[[list[list[Any]]], None], told: str) -> None:
    rows = json.loads(json.dumps(clean()))
    change(rows)

    assert any(told in breach for breach in audited(sealed(rows)).breaches), audited(sealed(rows)).breaches


def test_a_buy_beyond_the_cash_is_reported_at_its_verdict_and_at_its_fill() -> None:
    rows = clean()
    rows[1][3]["amount"] = "1000"
    breaches = audited(sealed(rows)).breaches

    assert "gate:Verdict:r-alpha-1: buys for 1011 with 1000 free" in breaches
    assert "executor:FillSettled:r-alpha-1: leaves cash at -1" in breaches


def test_the_order_after_the_last_of_the_month_is_reported() -> None:
    rows = clean()
    rows[0][3] = {"policy": {"limits": {**LIMITS, "max_trades_per_month": 0}, "universe": UNIVERSE, "commission": [USD]}}

    assert audited(sealed(rows)).breaches == ["gate:Verdict:r-alpha-1: is order 1 of 2022-10"]


def test_a_block_without_a_reason_is_reported() -> None:
    rows = clean()[:5]
    rows[4][3]["decisions"][0]["approved"] = False

    assert audited(sealed(rows)).breaches == ["gate:Verdict:r-alpha-1: blocks order 1 without a reason"]


def test_an_order_that_is_withheld_without_being_open_is_reported() -> None:
    rows = [*clean(), ["executor", "OrderWithheld", RUN, {"order": ORDER}]]

    assert audited(sealed(rows)).breaches == ["executor:OrderWithheld:r-alpha-1: withholds an order that is not open"]


@pytest.mark.parametrize("at", range(2, 18))
def test_a_changed_removed_or_foreign_payload_breaks_the_chain(at: int) -> None:
    events = sealed(clean())
    service = events[at][1]["by"]["service"]
    later = any(event["by"]["service"] == service for _, event in events[at + 1 :])
    changed = [*events[:at], (events[at][0], {**events[at][1], "at": "2022-10-03T14:31:00.000000Z"}), *events[at + 1 :]]
    renamed = [*events[:at], (events[at][0].replace("alpha", "beta"), events[at][1]), *events[at + 1 :]]

    assert any("breaks the chain" in breach for breach in audited(changed).breaches) is later
    assert any("breaks the chain" in breach for breach in audited(events[:at] + events[at + 1 :]).breaches) is later
    assert any("does not belong to subject" in breach for breach in audited(renamed).breaches)


def test_books_that_do_not_add_up_to_the_broker_are_reported() -> None:
    auditor = audited(sealed(clean()))
    auditor.against_broker({"AAA:USD": Decimal(7)}, Decimal(999_398), Decimal(1_000_000))
    auditor.against_broker({"AAA:USD": Decimal(6)}, Decimal(999_397), Decimal(1_000_000))

    assert len(auditor.breaches) == 2
    assert "the broker {'AAA:USD': Decimal('7')}" in auditor.breaches[0]
    assert "the broker has 999397" in auditor.breaches[1]


def test_shares_that_an_operator_accepted_for_a_book_are_the_books() -> None:
    share = {"book": "alpha", "cash": "-10", "quantity": "3", "cost": "10"}
    booked = {"kind": "position", "currency": "USD", "amount": "-10", "symbol": "BBB", "quantity": "3", "shares": [share]}
    auditor = audited(sealed([*clean(), ["desk", "AdjustmentBooked", None, booked]]))
    assert auditor.breaches == []
    assert auditor.books["alpha"].held["BBB:USD"] == 3
    gone = {**booked, "shares": [{**share, "quantity": "-3"}]}
    assert "leaves -3 of BBB:USD" in audited(sealed([*clean(), ["desk", "AdjustmentBooked", None, gone]])).breaches[0]
