"""Halts, resets, orders to sell and approvals in any order: what a halt stopped stays stopped, and it sells while it stands."""

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from shared.ledger.caused import is_busy
from shared.ledger.owed import owed
from shared.ledger.packing import pack, unpack
from shared.ledger.state import halts_of
from shared.protocol.events import FlattenOrdered, HaltReset
from shared.protocol.ids import DESK_BOOK
from shared.protocol.market import Side
from tests.unit.ledger.protected import BUY, SELL, Protected, breach

SCOPES = ("eq", "mo", DESK_BOOK)
Step = Callable[["Course"], None]


class Course(Protected):
    """A desk of two books on which anything is done, with what was stopped on the way."""

    def __init__(self) -> None:
        super().__init__("eq", "mo")
        self.number = 0
        self.stopped: set[str] = set()

    def next(self) -> str:
        self.number += 1
        return f"r{self.number}"

    def approves(self, book: str, side: Side) -> None:
        """A run of its own with one approved order."""
        if self.number >= 80:
            return
        minutes = 31 + self.number
        self.next()
        self.clock("slot", f"2022-10-03T{14 + minutes // 60}:{minutes % 60:02}:00.000000Z", (book,))
        self.approve(self.start_run(book), ("AAA", side, "1", "100"))

    def open_orders(self, scope: str) -> list[str]:
        books = self.state.books if scope == DESK_BOOK else (scope,)
        return [name for book in books for name in self.state.books[book].orders]

    def halts(self, scope: str, kind: str, liquidate: bool) -> None:
        found = self.open_orders(scope)
        self.stopped |= {name for name in found if kind == "full" or self.order(name).side is BUY}
        self.ordered(kind, liquidate=liquidate, scope=scope, request=self.next())


def halting(scope: str, kind: str, liquidate: bool) -> Step:
    return lambda course: course.halts(scope, kind, liquidate)


def resetting(scope: str) -> Step:
    return lambda course: void(course.write("desk", HaltReset(scope, "over"), course.next(), book=scope))


def flattening(scope: str, symbol: str | None) -> Step:
    return lambda course: void(course.write("desk", FlattenOrdered(scope, symbol, "enough"), course.next(), book=scope))


def approving(book: str, side: Side) -> Step:
    return lambda course: course.approves(book, side)


def valuing(value: str | None, count: int) -> Step:
    seen = breach(count) if count else None

    def step(course: Course) -> None:
        if seen is not None:
            course.stopped |= {name for name in course.open_orders("eq") if course.order(name).side is BUY}
        course.watched(value, seen)

    return step


def tripping(cause: str) -> Step:
    def step(course: Course) -> None:
        kind = "full" if cause == "kill_switch" else "reduce_only"
        course.stopped |= {name for name in course.open_orders("eq") if kind == "full" or course.order(name).side is BUY}
        course.tripped(cause)

    return step


def void(_: object) -> None:
    """Nothing is made of it."""


STEPS = st.one_of(
    st.builds(halting, st.sampled_from(SCOPES), st.sampled_from(["full", "reduce_only"]), st.booleans()),
    st.builds(resetting, st.sampled_from(SCOPES)),
    st.builds(flattening, st.sampled_from(SCOPES), st.sampled_from([None, "AAA:USD", "CCC:USD"])),
    st.builds(approving, st.sampled_from(["eq", "mo"]), st.sampled_from([BUY, SELL])),
    st.builds(valuing, st.sampled_from(["7000", None]), st.integers(0, 3)),
    st.builds(tripping, st.sampled_from(["kill_switch", "evaluator_failed"])),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, max_size=25))
def test_whatever_is_ordered_in_whatever_order(steps: list[Step]) -> None:
    course = Course()
    for step in steps:
        step(course)
        state = course.state
        for name in course.stopped:
            assert course.order(name).must_end, "what a halt stopped is stopped for good"
        for book in state.books.values():
            halts = [halt for halt in halts_of(state, book) if halt.liquidate]
            assert (book.sale is not None and book.sale.halted) is bool(halts), "a halt sells exactly as long as it stands"
        items = owed(state)
        begins = [item for item in items if item.type == "MarketObserved" and item.run not in state.runs]
        assert not begins or not is_busy(state), "nothing is sold before what a halt stops has ended"
        assert len({(item.author, item.type, item.about, item.k) for item in items}) == len(items)
    packed = pack(course.state)
    assert pack(unpack(packed)) == packed
