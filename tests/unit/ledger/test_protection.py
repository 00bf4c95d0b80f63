"""Halts, the kill switch and orders to sell, as the log folds them."""

import pytest

from shared.ledger.hashing import hashed_book
from shared.ledger.packing import pack, unpack
from shared.ledger.state import Halt, halts_of
from shared.protocol.events import CashDeposited, CashWithdrawn, FlattenOrdered, HaltReset, OrderWithheld
from shared.protocol.ids import DESK_BOOK
from shared.protocol.money import Exact
from shared.protocol.reasons import OrderEnd, Withheld
from tests.support.scribe import SLOT
from tests.unit.ledger.protected import BUY, NEXT_DAY, NEXT_DAY_SLOT, SELL, WATCH, Protected, breach

REDUCE, FULL, KILL = ("reduce_only", "ordered"), ("full", "ordered"), ("full", "kill_switch")


def reset(scribe: Protected, scope: str = "eq", request: str = "reset") -> None:
    scribe.write("desk", HaltReset(scope, "over"), request, book=scope)


@pytest.mark.parametrize(
    ("before", "then", "after"),
    [
        (None, REDUCE, REDUCE),
        (None, FULL, FULL),
        (None, KILL, KILL),
        (REDUCE, FULL, FULL),
        (REDUCE, KILL, KILL),
        (FULL, REDUCE, FULL),
        (FULL, FULL, FULL),
        (FULL, KILL, KILL),
        (KILL, REDUCE, KILL),
        (KILL, FULL, KILL),
    ],
)
def test_of_two_halts_of_a_book_the_stronger_one_stands(
    before: tuple[str, str] | None, then: tuple[str, str], after: tuple[str, str]
) -> None:
    scribe = Protected()
    for number, step in enumerate((before, then)):
        if step is not None:
            scribe.tripped() if step is KILL else scribe.ordered(step[0], request=f"r{number}")
    halt = scribe.book().halt
    assert halt is not None
    assert (halt.kind, halt.cause) == after
    reset(scribe)
    assert scribe.book().halt is None


@pytest.mark.parametrize("scope", ["eq", DESK_BOOK])
def test_a_weaker_or_second_halt_takes_nothing_from_the_first(scope: str) -> None:
    scribe = Protected()
    scribe.ordered("full", liquidate=True, scope=scope, request="r1")
    scribe.ordered("reduce_only", scope=scope, request="r2")
    scribe.ordered("full", scope=scope, request="r3")
    halt = scribe.book().halt if scope == "eq" else scribe.state.halts[DESK_BOOK]
    assert halt == Halt("full", "drill", "ordered", True)
    assert sale(scribe) == ((), True)


def test_a_halt_of_a_book_that_is_not_there_changes_nothing() -> None:
    scribe = Protected()
    before = scribe.state.books
    scribe.ordered("full", scope="ghost")
    reset(scribe, "ghost")
    assert (scribe.state.books, scribe.state.halts) == (before, {})


def test_another_halt_goes_on_where_the_attempts_before_it_were() -> None:
    scribe = Protected()
    flatten(scribe)
    (order,) = scribe.sold(1, ("AAA", SELL, "10", "99"))
    scribe.placed(order)
    scribe.closed(order)
    scribe.ordered("full", liquidate=True)
    found = scribe.book().sale
    assert found is not None
    assert (found.unfilled["AAA:USD"].used, found.tried) == (1, "")


def test_a_halt_of_the_desk_and_one_of_a_book_stand_beside_each_other() -> None:
    scribe = Protected("eq", "mo")
    scribe.ordered("reduce_only", scope=DESK_BOOK, request="r1")
    scribe.ordered("full", scope="eq", request="r2")
    assert [halt.kind for halt in halts_of(scribe.state, scribe.book())] == ["reduce_only", "full"]
    assert [halt.kind for halt in halts_of(scribe.state, scribe.book("mo"))] == ["reduce_only"]
    reset(scribe)
    assert [halt.kind for halt in halts_of(scribe.state, scribe.book())] == ["reduce_only"]


def test_an_evaluator_that_failed_is_reduce_only_until_a_value_is_known_again_and_no_reset_ends_it_before() -> None:
    scribe = Protected()
    scribe.clock("watch", WATCH)
    scribe.looked()
    scribe.watched(None)
    assert scribe.owes() == [("gate", "HaltTripped", "eq-20221003T150000Z")]
    scribe.tripped("evaluator_failed")
    reset(scribe)
    assert [halt.kind for halt in halts_of(scribe.state, scribe.book())] == ["reduce_only"]
    assert (hashed_book(scribe.book())["blind"], scribe.owes()) == (True, [])
    scribe.watched(None)
    assert scribe.owes() == []  # once, however often it cannot evaluate
    scribe.watched("9000")
    assert halts_of(scribe.state, scribe.book()) == ()
    assert "blind" not in hashed_book(scribe.book())


def test_an_evaluator_that_failed_leaves_an_operators_halt_alone() -> None:
    scribe = Protected()
    scribe.ordered("reduce_only")
    scribe.watched(None)
    scribe.tripped("evaluator_failed")
    scribe.watched("9000")
    assert [halt.reason for halt in halts_of(scribe.state, scribe.book())] == ["drill"]


@pytest.mark.parametrize(("count", "trips"), [(1, False), (2, True), (3, True)])
def test_the_kill_switch_trips_when_as_many_valuations_agree_as_the_policy_asks_for(count: int, trips: bool) -> None:
    scribe = Protected()
    scribe.clock("watch", WATCH)
    scribe.looked()
    scribe.watched("7000", breach(count))
    assert scribe.owes() == ([("gate", "HaltTripped", "eq-20221003T150000Z")] if trips else [])


def test_it_trips_over_an_operators_halt_but_not_again_over_its_own() -> None:
    scribe = Protected()
    scribe.ordered("full")
    scribe.clock("watch", WATCH)
    scribe.looked()
    scribe.watched("7000", breach(2))
    assert scribe.owes() == [("gate", "HaltTripped", "eq-20221003T150000Z")]
    scribe.tripped()
    assert [kind for _, kind, _ in scribe.owes()] == ["MarketObserved"]


def test_a_value_above_the_limit_ends_a_breach_an_unknown_one_does_not() -> None:
    scribe = Protected()
    scribe.watched("7000", breach(1))
    scribe.watched(None, breach(1))
    assert scribe.book().breach == breach(1)
    scribe.watched("9000", None)
    assert scribe.book().breach is None


def test_a_breach_stops_buys_that_were_approved_and_lets_exits_go_on() -> None:
    scribe = Protected()
    run = scribe.start_run("eq")
    buy, sell = scribe.approve(run, ("AAA", BUY, "1", "100"), ("BBB", SELL, "1", "100"))
    scribe.watched("7000", breach(1))
    assert (scribe.order(buy).must_end, scribe.order(sell).must_end) == (True, False)


def test_an_evaluator_that_failed_stops_open_buys_of_its_book_alone() -> None:
    scribe = Protected("eq", "mo")
    buy, sell = scribe.approve(scribe.start_run("eq"), ("AAA", BUY, "1", "100"), ("BBB", SELL, "1", "100"))
    (other,) = scribe.approve(scribe.start_run("mo"), ("AAA", BUY, "1", "100"))
    scribe.watched(None)
    scribe.tripped("evaluator_failed")
    assert [scribe.order(name).must_end for name in (buy, sell, other)] == [True, False, False]


@pytest.mark.parametrize(
    ("kind", "buy", "sell"), [("full", True, True), ("reduce_only", True, False)], ids=["full", "reduce-only"]
)
@pytest.mark.parametrize("scope", ["eq", DESK_BOOK])
def test_a_halt_stops_what_was_approved_before_it_for_good(kind: str, buy: bool, sell: bool, scope: str) -> None:
    scribe = Protected()
    run = scribe.start_run("eq")
    first, second = scribe.approve(run, ("AAA", BUY, "1", "100"), ("BBB", SELL, "1", "100"))
    scribe.placed(second)
    scribe.ordered(kind, scope=scope)
    reset(scribe, scope)
    assert (scribe.order(first).must_end, scribe.order(second).must_end) == (buy, sell)
    assert (("executor", "OrderClosed", second) in scribe.owes()) is sell


def test_another_books_orders_are_not_stopped() -> None:
    scribe = Protected("eq", "mo")
    (order,) = scribe.approve(scribe.start_run("mo"), ("AAA", BUY, "1", "100"))
    scribe.ordered("full", scope="eq")
    assert not scribe.order(order).must_end


def test_a_withheld_order_gives_its_reservation_and_its_count_back() -> None:
    scribe = Protected()
    (order,) = scribe.approve(scribe.start_run("eq"), ("AAA", BUY, "1", "100"))
    scribe.ordered("full")
    assert (scribe.book().month.used, "reservations" in hashed_book(scribe.book())) == (1, True)
    data = OrderWithheld(order, Withheld.HALT, "full halt: drill")
    scribe.write("executor", data, order, book="eq", run=order.rpartition("-")[0])
    assert (scribe.book().month.used, "reservations" in hashed_book(scribe.book())) == (0, False)


def test_a_reset_sets_the_peak_to_the_value_and_forgets_the_breach_and_the_sale() -> None:
    scribe = Protected()
    scribe.watched("7000", breach(2))
    scribe.tripped()
    assert scribe.book().sale is not None
    reset(scribe)
    book = scribe.book()
    assert (book.peak, book.breach, book.sale, book.halt) == (Exact(7000), None, None, None)


def test_a_reset_of_a_book_that_holds_nothing_sets_the_peak_to_its_cash() -> None:
    scribe = Protected("eq", "mo")
    scribe.ordered(scope="mo")
    scribe.watched("9000", book="mo")
    reset(scribe, "mo")
    assert scribe.book("mo").peak == Exact(10000)  # nothing is held, so its cash is its value


def test_a_reset_without_a_known_value_leaves_the_peak() -> None:
    scribe = Protected()
    scribe.ordered()
    scribe.watched(None)
    reset(scribe)
    assert scribe.book().peak == Exact(10000)


def test_a_reset_of_the_desk_leaves_what_a_books_own_halt_sells() -> None:
    scribe = Protected()
    scribe.tripped()
    scribe.ordered("full", liquidate=True, scope=DESK_BOOK)
    reset(scribe, DESK_BOOK)
    assert scribe.book().sale is not None
    reset(scribe, request="reset2")
    assert scribe.book().sale is None


def test_a_reset_of_a_book_leaves_what_the_desks_halt_sells() -> None:
    scribe = Protected()
    scribe.tripped()
    scribe.ordered("full", liquidate=True, scope=DESK_BOOK)
    reset(scribe)
    assert scribe.book().sale is not None
    reset(scribe, DESK_BOOK, "reset2")
    assert scribe.book().sale is None


def sale(scribe: Protected) -> tuple[tuple[str, ...], bool] | None:
    found = scribe.book().sale
    return None if found is None else (found.keys, found.halted)


def flatten(scribe: Protected, symbol: str | None = None, request: str = "f1", scope: str = "eq") -> None:
    scribe.write("desk", FlattenOrdered(scope, symbol, "enough"), request, book=scope)


def test_what_is_to_be_sold_after_each_order_to_sell() -> None:
    scribe = Protected()
    assert sale(scribe) is None
    flatten(scribe, "AAA:USD", "f1")
    assert sale(scribe) == (("AAA:USD",), False)
    flatten(scribe, "BBB:USD", "f2")
    assert sale(scribe) == (("AAA:USD", "BBB:USD"), False)
    flatten(scribe, None, "f3")
    assert sale(scribe) == ((), False)
    flatten(scribe, "AAA:USD", "f4")
    assert sale(scribe) == ((), False)  # all of it includes one of them
    scribe.ordered("reduce_only", request="r1")
    assert sale(scribe) == ((), False)
    scribe.ordered("full", liquidate=True, request="r2")
    assert sale(scribe) == ((), True)
    scribe.ordered("full", request="r3")
    assert sale(scribe) == ((), True)


def test_a_full_halt_without_liquidation_ends_a_flatten() -> None:
    scribe = Protected()
    flatten(scribe)
    scribe.ordered("full")
    assert sale(scribe) is None


def test_a_flatten_of_what_is_not_held_is_over_at_once() -> None:
    scribe = Protected("eq", "mo")
    flatten(scribe, "CCC:USD")
    flatten(scribe, scope="mo", request="f2")
    assert (sale(scribe), scribe.book("mo").sale) == (None, None)


def test_a_flatten_is_over_once_all_of_it_is_sold_so_that_later_buys_stay() -> None:
    scribe = Protected()
    flatten(scribe, "AAA:USD")
    (order,) = scribe.sold(1, ("AAA", SELL, "10", "99"))
    scribe.placed(order, "done")
    scribe.closed(order, "10", OrderEnd.FILLED)
    assert (sale(scribe), list(scribe.book().holdings)) == (None, ["BBB:USD"])


def test_a_halt_goes_on_selling_also_what_comes_in_later() -> None:
    scribe = Protected()
    scribe.tripped()
    for number, symbol in enumerate(("AAA", "BBB"), 1):
        (order,) = scribe.sold(number, (symbol, SELL, "10", "99"))
        scribe.placed(order, "done")
        scribe.closed(order, "10", OrderEnd.FILLED)
        scribe.settled(order.rpartition("-")[0])
    assert (sale(scribe), scribe.book().holdings) == (((), True), {})
    scribe.fill("20220901T1030-eq-1-3", "late", "AAA", BUY, "1", "100")
    scribe.clock("slot", NEXT_DAY_SLOT, session=NEXT_DAY)
    assert [kind for _, kind, _ in scribe.owes()] == ["MarketObserved"]


def test_attempts_that_left_something_unfilled_count_per_name_and_exchange_day() -> None:
    scribe = Protected()
    scribe.tripped()
    first, second = scribe.sold(1, ("AAA", SELL, "10", "99"), ("BBB", SELL, "10", "99"))
    for order in (first, second):
        scribe.placed(order)
    scribe.closed(first, "4")
    scribe.closed(second, "10", OrderEnd.FILLED)
    found = scribe.book().sale
    assert found is not None
    assert {key: (row.period, row.used) for key, row in found.unfilled.items()} == {"AAA:USD": ("2022-10-03", 1)}


def test_a_second_unfilled_attempt_of_the_day_counts_on_and_a_sources_own_exit_does_not_count() -> None:
    scribe = Protected()
    (own,) = scribe.approve(scribe.start_run("eq"), ("AAA", SELL, "1", "120"))
    scribe.placed(own)
    scribe.ordered("reduce_only", liquidate=True)
    scribe.closed(own)
    for number in (1, 2):
        (order,) = scribe.sold(number, ("AAA", SELL, "10", "99"))
        scribe.placed(order)
        scribe.closed(order)
        scribe.settled(order.rpartition("-")[0])
    found = scribe.book().sale
    assert found is not None
    assert found.unfilled["AAA:USD"].used == 2


def test_what_another_halt_stopped_says_nothing_about_the_price() -> None:
    scribe = Protected()
    scribe.tripped()
    (order,) = scribe.sold(1, ("AAA", SELL, "10", "99"))
    scribe.placed(order)
    scribe.ordered("full")
    scribe.closed(order)
    found = scribe.book().sale
    assert found is not None
    assert (found.unfilled, found.looked, found.tried) == ({}, "", "")


def test_a_liquidation_counts_toward_the_month_of_its_approval() -> None:
    scribe = Protected()
    scribe.tripped()
    scribe.sold(1, ("AAA", SELL, "10", "99"), ("BBB", SELL, "10", "99"))
    assert (scribe.book().month.used, scribe.book().day.used) == (2, 2)


def test_a_fill_remembers_where_a_name_was_bought() -> None:
    scribe = Protected("mo", "eq")
    (order,) = scribe.approve(scribe.start_run("mo"), ("AAA", BUY, "1", "100"))
    scribe.placed(order, "done")
    scribe.closed(order, "1", OrderEnd.FILLED)
    assert scribe.book("mo").holdings["AAA:USD"].exchange == "SMART"


def test_a_halted_desk_survives_a_snapshot() -> None:
    scribe = Protected()
    scribe.watched("7000", breach(2))
    scribe.tripped()
    scribe.sold(1, ("AAA", SELL, "10", "99"))
    packed = pack(scribe.state)
    assert pack(unpack(packed)) == packed


def test_a_kill_switch_names_its_cause_in_the_halt() -> None:
    scribe = Protected()
    scribe.tripped()
    assert scribe.book().halt == Halt("full", "it fell", "kill_switch", True)
    assert scribe.state.now == SLOT


@pytest.mark.parametrize("again", ["0", "500"])
def test_where_nothing_is_left_a_breach_ends_with_what_fell(again: str) -> None:
    scribe = Protected()
    for symbol in ("AAA", "BBB"):
        scribe.fill(f"20220901T1030-eq-2-{symbol}", f"s-{symbol}", symbol, SELL, "10", "1")
    scribe.watched(str(scribe.book().cash), breach(1))
    scribe.write("desk", CashWithdrawn(scribe.book().cash, "all of it"), "w1", book="eq")
    if again != "0":
        scribe.write("desk", CashDeposited(Exact(again), "anew"), "d1", book="eq")
    assert (scribe.book().breach, scribe.book().peak) == (None, Exact(again))


def test_a_breach_stays_through_other_flows() -> None:
    scribe = Protected()
    scribe.watched("7000", breach(1))
    scribe.write("desk", CashDeposited(Exact(5000), "more"), "d1", book="eq")
    scribe.write("desk", CashWithdrawn(Exact(5000), "less"), "w1", book="eq")
    assert scribe.book().breach == breach(1)
