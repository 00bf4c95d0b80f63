"""Whatever comes in whatever order: each execution is booked once, at its newest revision; no order ends twice or too early."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from services.executor.ibkr.booking import split_id
from services.executor.ibkr.life import (
    Book,
    BookFee,
    CancelSent,
    Close,
    CommissionSeen,
    Doubted,
    Effect,
    ErrorSeen,
    ExecutionSeen,
    Input,
    Life,
    Sent,
    StatusSeen,
    Swept,
    TimePassed,
)
from services.executor.ibkr.lifecycle import next_deadline, step
from shared.protocol.money import Exact, Money

START = datetime(2022, 10, 4, 14, 30, tzinfo=UTC)
STATUSES = (
    "PendingSubmit",
    "PreSubmitted",
    "Submitted",
    "PendingCancel",
    "Filled",
    "Cancelled",
    "Inactive",
    "ValidationError",
    "New",
)
CODES = (103, 110, 161, 201, 202, 321, 399, 404, 10147, 10148, 10349, 31_415)

quantities = st.integers(1, 10).map(Exact)
executions = st.builds(lambda base, revision: f"e{base}.01.{revision:02d}", st.integers(1, 3), st.integers(1, 3))
fees = st.integers(-2, 5).map(lambda amount: Money(Exact(amount), "USD"))
statuses = st.builds(
    StatusSeen,
    st.sampled_from(STATUSES),
    st.sampled_from((0, 1)),
    st.integers(0, 10).map(Exact),
    st.sampled_from(("", "locate")),
)
inputs = st.one_of(
    st.just(Sent()),
    st.just(CancelSent()),
    st.just(TimePassed()),
    st.just(Doubted("disconnected")),
    statuses,
    st.builds(ExecutionSeen, executions, st.one_of(st.none(), quantities), st.one_of(st.none(), quantities)),
    st.builds(CommissionSeen, executions, st.one_of(st.none(), fees)),
    st.builds(ErrorSeen, st.sampled_from(CODES), st.just("")),
    st.builds(Swept, st.sampled_from((None, "Submitted", "Filled", "Cancelled", "Inactive")), st.just(1), st.none(), st.just(""),
              st.integers(0, 3)),
)  # fmt: skip
histories = st.lists(st.tuples(inputs, st.integers(0, 70)), max_size=40)


def told(items: list[tuple[Input, int]]) -> tuple[Life, list[Effect], list[Life]]:
    """The order after a history with pauses in seconds, all effects, and the order after every input."""
    life, now = Life("ref", Exact(10)), START
    effects: list[Effect] = []
    lives = []
    for item, pause_s in items:
        now += timedelta(seconds=pause_s)
        change = step(life, item, now)
        life = change.life
        effects += change.effects
        lives.append(life)
    return life, effects, lives


def booked(effects: list[Effect]) -> dict[str, Book]:
    """What stands in the books at the end; fails where something is booked twice or corrects what is not booked."""
    kept: dict[str, Book] = {}
    for effect in effects:
        if isinstance(effect, Book):
            base, revision = split_id(effect.execution)
            if base in kept:
                assert effect.replaces == kept[base].execution
                assert revision > split_id(kept[base].execution)[1]
            else:
                assert effect.replaces is None
            kept[base] = effect
    return kept


@given(histories)
def test_every_execution_is_booked_at_most_once_and_corrections_only_go_up(items):
    life, effects, _ = told(items)
    for base, book in booked(effects).items():
        assert base in life.fills
        assert book.quantity > 0
        assert book.price > 0


@given(histories)
def test_an_order_ends_at_most_once_and_only_with_all_its_executions_booked(items):
    life, now, effects = Life("ref", Exact(10)), START, []
    ends = 0
    for item, pause_s in items:
        now += timedelta(seconds=pause_s)
        change = step(life, item, now)
        life = change.life
        for effect in change.effects:
            effects.append(effect)
            if isinstance(effect, Close):
                ends += 1
                assert effect.filled == sum((book.quantity for book in booked(effects).values()), Exact(0))
                assert effect.end != "unsent" or (not life.fills and not life.perm_id)
                assert effect.end != "filled" or effect.filled >= 10
    assert ends <= 1
    assert (ends == 1) == life.phase.is_closed


@given(histories)
def test_the_same_input_twice_is_as_good_as_once(items):
    once, effects, _ = told(items)
    twice, repeated, _ = told([pair for item, pause_s in items for pair in ((item, pause_s), (item, 0))])
    kept = [effect for effect in effects if isinstance(effect, Book | BookFee)]
    assert [effect for effect in repeated if isinstance(effect, Book | BookFee)] == kept
    assert once.filled == twice.filled


@given(
    st.permutations([("e1.01.01", 4), ("e1.01.02", 3), ("e2.01.01", 7)]),
    st.permutations(["e1.01.01", "e1.01.02", "e2.01.01"]),
    st.data(),
)
def test_executions_and_commissions_add_up_the_same_in_every_order(fills, paid, data):
    merged: list[Input] = [ExecutionSeen(name, Exact(quantity), Exact(190)) for name, quantity in fills]
    for name in paid:
        at = data.draw(st.integers(0, len(merged)))
        merged.insert(at, CommissionSeen(name, Money(Exact(1), "USD")))
    life, effects, _ = told([(item, 0) for item in [Sent(), StatusSeen("Submitted", 1, Exact(0)), *merged]])
    kept = booked(effects)
    assert {book.execution: str(book.quantity) for book in kept.values()} == {"e1.01.02": "3", "e2.01.01": "7"}
    assert life.phase.is_closed
    assert life.filled == 10


@given(histories)
def test_waiting_at_every_deadline_comes_to_rest(items):
    life, _, _ = told(items)
    now = START + timedelta(days=1)
    for _ in range(20):
        due = next_deadline(life)
        if due is None:
            return
        now = max(now, due)
        life = step(life, TimePassed(), now).life
    raise AssertionError(f"deadlines never end: {life}")
