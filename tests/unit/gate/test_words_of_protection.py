"""What a tripped kill switch, a blinded evaluator and a blocked exit say, to the word, and what they must not be asked."""

import hashlib
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from services.gate.exits import Exit, exits_of, liquidate, unfilled_on
from services.gate.killswitch import blinded, next_breach, tripped
from services.gate.numbers import exact_arithmetic
from services.gate.valuation import quote_digest, quote_marks
from shared.ledger.parts import Counter, Sale
from shared.ledger.state import Book
from shared.protocol.events import Breach, HaltTripped
from shared.protocol.money import Exact
from shared.protocol.reasons import Rule
from tests.unit.gate.given import book, market, policy

AT = "2022-10-03T14:30:00.000000Z"
CENT = {"AAA:USD": Decimal("0.01"), "BBB:USD": Decimal("0.01")}


def fallen(count: int, value: str | None = "7000") -> Book:
    breach = Breach(count, AT, "q", None, ("e1", "e2")[:count])
    return Book("alpha", "file", "USD", peak=Exact(10_000), value=None if value is None else Exact(value), breach=breach)


@pytest.mark.parametrize(("count", "agreed"), [(1, "1 valuation"), (2, "2 valuations")])
def test_a_trip_says_how_far_down_and_how_many_valuations_agreed(count: int, agreed: str) -> None:
    told = f"drawdown 30 % of the peak 10000, limit 25 %, seen by {agreed}"
    evidence = ("e1", "e2")[:count]

    assert tripped(policy(), fallen(count)) == HaltTripped(
        "alpha", "full", True, "kill_switch", told, Exact(7000), Exact(10_000), Exact(30), Exact(25), evidence
    )


@pytest.mark.parametrize("wrong", [replace(fallen(1), breach=None), fallen(1, None)], ids=["no breach", "no value"])
def test_without_a_breach_and_a_value_nothing_can_trip(wrong: Book) -> None:
    with pytest.raises(LookupError, match="the kill switch of alpha cannot trip: its newest valuation shows no breach"):
        tripped(policy(), wrong)


@pytest.mark.parametrize(("unpriced", "named"), [(("AAA:USD", "BBB:USD"), "AAA:USD, BBB:USD"), ((), "a holding")])
def test_a_blinded_evaluator_names_what_it_cannot_see(unpriced: tuple[str, ...], named: str) -> None:
    told = f"evaluator failed: no price or rate for {named}: buying ends until the value is known again"

    assert blinded(fallen(1), unpriced, ("e1",)) == HaltTripped(
        "alpha", "reduce_only", False, "evaluator_failed", told, None, Exact(10_000), None, None, ("e1",)
    )


def test_a_confirmation_remembers_the_run_it_came_from() -> None:
    first = Breach(1, AT, "q1", "r1", ("e1",))
    second = Breach(1, "2022-10-03T14:31:00.000000Z", "q2", "r2", ("e2",))
    with exact_arithmetic():
        found = next_breach(first, second, Decimal(70), Decimal(100), Decimal(25))

    assert found == Breach(2, second.at, "q2", "r2", ("e1", "e2"))


def test_dust_hides_no_holding_behind_it() -> None:
    held = {"AAA:USD": Decimal("0.5"), "BBB:USD": Decimal(3)}

    assert exits_of(held, {}, {}, held, {}, {"BBB:USD": 2}) == (Exit("BBB:USD", Exact(3), Exact(3), 2),)


def blocked(exit_: Exit, ticks: dict[str, Any] | None = None, fees: Any = None) -> Any:
    rules = policy() if fees is None else policy(fees=fees)
    held = {exit_.key: "10"}
    seen = market(rules)
    (row,) = liquidate(rules, book(holdings=held), seen, (exit_,), CENT if ticks is None else ticks, "r-k1").decisions
    assert not row.approved
    return row


@pytest.mark.parametrize(
    ("at_broker", "limit", "told"),
    [
        (None, None, "the broker's position in AAA:USD is not known"),
        (Exact(0), Exact(0), "10 of AAA:USD in the book, the broker has 0 to sell"),
    ],
)
def test_what_the_broker_has_not_is_said_with_both_numbers(at_broker: Exact | None, limit: Exact | None, told: str) -> None:
    row = blocked(Exit("AAA:USD", Exact(10), at_broker, 0))
    (why,) = row.reasons

    assert (why.rule, why.limit, why.value, why.message) == (Rule.HOLDING, limit, Exact(10), told)
    assert row.largest == Exact(0)


def test_a_tick_of_nothing_gives_no_limit() -> None:
    row = blocked(Exit("AAA:USD", Exact(10), Exact(10), 0), {"AAA:USD": Decimal(0)})

    assert [why.rule for why in row.reasons] == [Rule.LIMIT_PRICE]


def test_unknown_fees_are_said_beside_an_unknown_price() -> None:
    row = blocked(Exit("BRK A:USD", Exact(10), Exact(10), 0), fees=())

    assert {Rule.QUOTE, Rule.COMMISSION} <= {why.rule for why in row.reasons}


def test_each_exit_works_under_its_own_id() -> None:
    rules = policy()
    found = liquidate(
        rules, book(holdings={"AAA:USD": "10"}), market(rules), (Exit("AAA:USD", Exact(10), Exact(10), 0),), CENT, "r-k1"
    )

    assert [order.id for order in found.batch.own_orders("AAA:USD")] == ["r-k1-1"]


def test_unfilled_attempts_count_on_their_day_and_without_a_sale_there_are_none() -> None:
    sale = Sale("e", unfilled={"AAA:USD": Counter("2022-10-03", 2), "BBB:USD": Counter("2022-10-04", 1)})

    assert unfilled_on(sale, "2022-10-03") == {"AAA:USD": 2, "BBB:USD": 0}
    assert unfilled_on(None, "2022-10-03") == {}


def test_a_digest_stands_for_names_and_quote_times_line_by_line() -> None:
    seen = market(policy())
    lines = f"AAA:USD {seen.quotes['AAA:USD'].at}\nZZZ:USD None"
    expected = hashlib.sha256(lines.encode()).hexdigest()[:16]

    assert quote_digest({"ZZZ:USD": Decimal(1), "AAA:USD": Decimal(1)}, seen) == expected


def test_marks_stand_one_for_each_name_held_and_tell_its_quotes_time() -> None:
    seen = market(policy())
    lines = (f"AAA:USD {seen.quotes['AAA:USD'].at}", "ZZZ:USD None")
    marks = quote_marks({"ZZZ:USD": Decimal(1), "AAA:USD": Decimal(1)}, seen).split(" ")

    assert len(marks) == 2
    digests = [hashlib.sha256(line.encode()).hexdigest() for line in lines]
    assert all(mark and digest.startswith(mark) for mark, digest in zip(marks, digests, strict=True))
    assert quote_marks({}, seen) == "-"
