"""Which valuations agree that the drawdown limit is reached: a single bad tick never liquidates."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.gate.killswitch import MAX_COUNT, next_breach
from services.gate.numbers import exact_arithmetic
from shared.protocol.events import Breach

PEAK, LIMIT = Decimal(100), Decimal(25)
CRASHED, RECOVERED = Decimal(75), Decimal("75.00000001")
RUN, NEXT_RUN = "20221003T1030-eq-1", "20221003T1030-eq-2"


def at(time: str) -> str:
    return f"2022-10-03T{time}.000000Z"


def seen(time: str = "14:30:00", quotes: str = "q1", run: str | None = None) -> Breach:
    return Breach(1, at(time), quotes, run, (f"e-{time}",))


def after(before: Breach | None, now: Breach, value: Decimal | None = CRASHED) -> Breach | None:
    with exact_arithmetic():
        return next_breach(before, now, value, PEAK, LIMIT)


@pytest.mark.parametrize(
    ("value", "is_breach"),
    [("75", True), ("75.00000001", False), ("74.99999999", True), ("0", True), ("-5", True), ("100", False)],
)
def test_exactly_the_limit_is_a_breach(value: str, is_breach: bool) -> None:
    assert (after(None, seen(), Decimal(value)) is not None) is is_breach


@pytest.mark.parametrize(
    ("now", "counts"),
    [
        (seen("14:30:29", "q2"), False),
        (seen("14:30:30", "q2"), True),
        (seen("14:40:00", "q1"), False),
        (seen("14:30:01", "q2", NEXT_RUN), True),
        (seen("14:40:00", "q1", NEXT_RUN), False),
        (seen("14:30:00", "q2", RUN), False),
        (seen("14:40:00", "q0"), False),
        (seen("14:40:00", "q0 q2"), True),
    ],
    ids=[
        *("29 s later", "30 s later", "the same quotes", "the next run", "the next run, the same quotes", "the same run again"),
        *("one name less, the same quote", "one of two quotes is new"),
    ],
)
def test_a_valuation_confirms_if_its_quotes_are_others_and_30_s_later_or_the_next_runs(now: Breach, counts: bool) -> None:
    found = after(seen(quotes="q0 q1", run=RUN), now)
    assert found is not None
    assert found.count == (2 if counts else 1)


def test_a_book_of_cash_alone_is_always_seen_afresh() -> None:
    found = after(seen(quotes="-"), seen("14:31:00", "-"))
    assert found is not None
    assert found.count == 2


def test_the_newest_that_counted_is_what_the_next_one_is_compared_with() -> None:
    first = seen("14:30:00", "q1")
    second = after(first, seen("14:30:20", "q2"))
    assert second == first
    third = after(second, seen("14:30:40", "q3"))
    assert third == Breach(2, at("14:30:40"), "q3", None, ("e-14:30:00", "e-14:30:40"))


def test_a_recovery_in_between_starts_anew() -> None:
    assert after(after(seen(), seen("14:31:00", "q2"), RECOVERED), seen("14:32:00", "q3")) == seen("14:32:00", "q3")


def test_an_unknown_value_neither_confirms_nor_ends_a_breach() -> None:
    assert after(seen(), seen("14:31:00", "q2"), None) == seen()
    assert after(None, seen(), None) is None


def test_counting_ends_at_the_most_that_a_policy_can_ask_for() -> None:
    found: Breach | None = None
    for minute in range(20):
        found = after(found, seen(f"14:{minute:02}:00", f"q{minute}"))
    assert found is not None
    assert (found.count, len(found.evidence)) == (MAX_COUNT, MAX_COUNT)


LOOKS = st.lists(
    st.tuples(st.integers(0, 3600), st.integers(0, 3), st.sampled_from([Decimal(50), Decimal(75), Decimal(90), None])),
    max_size=20,
)


@given(LOOKS)
def test_a_breach_counts_only_valuations_at_or_over_the_limit_with_separate_quotes_since_the_last_recovery(
    looks: list[tuple[int, int, Decimal | None]],
) -> None:
    found: Breach | None = None
    counted: list[tuple[int, int]] = []
    for second, quotes, value in sorted(looks, key=lambda look: look[0]):
        time = f"{14 + second // 3600:02}:{second % 3600 // 60:02}:{second % 60:02}"
        found = after(found, seen(time, f"q{quotes}"), value)
        if value is not None and value > 75:
            counted = []
        elif value is not None and (not counted or (quotes != counted[-1][1] and second - counted[-1][0] >= 30)):
            counted = [*counted, (second, quotes)][:MAX_COUNT]
        assert (found.count if found else 0) == len(counted)
