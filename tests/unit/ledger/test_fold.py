"""What each event changes in books and account; numbers worked out on paper."""

from shared.ledger.hashing import book_hash, hashed_book, hashed_state, state_hash
from shared.ledger.reservations import free_cash, reserved_cash, reserved_shares
from shared.ledger.state import Counter, Holding
from shared.protocol.envelope import sha256_hex
from shared.protocol.events import (
    AccountReconciled,
    BookOpened,
    CashDeposited,
    HaltOrdered,
    HaltReset,
    OrderClosed,
    OrderWithheld,
    RunEnded,
)
from shared.protocol.market import Side
from shared.protocol.money import Exact
from shared.protocol.reasons import OrderEnd, RunStatus, Withheld
from tests.support.scribe import SLOT, Scribe


def desk(*books: str) -> Scribe:
    scribe = Scribe().open_desk(*(books or ("eq",)))
    scribe.clock("slot", SLOT, due=books or ("eq",))
    return scribe


def withhold(scribe: Scribe, order: str) -> None:
    run = order.rpartition("-")[0]
    scribe.write("executor", OrderWithheld(order, Withheld.UNFUNDED, ""), order, book="eq", run=run)


def close(scribe: Scribe, order: str, end: OrderEnd, filled: str) -> None:
    run = order.rpartition("-")[0]
    scribe.write("executor", OrderClosed(order, end, Exact(filled), ""), order, book="eq", run=run)


def test_the_opening_deposit_buys_units_at_one_and_sets_the_peak() -> None:
    book = desk().state.books["eq"]
    assert (book.cash, book.units, book.peak, book.previous) == (Exact(10000), Exact(10000), Exact(10000), None)


def test_a_deposit_leaves_drawdown_where_it_was() -> None:
    scribe = desk()
    run = scribe.start_run("eq")
    scribe.approve(run, ("AAA", Side.BUY, "100", "100"))
    scribe.fill(f"{run}-1", "1.1", "AAA", Side.BUY, "100", "99.99")
    scribe.value("eq", "8000", run=run, peak="10000", previous="8000")

    scribe.write("desk", CashDeposited(Exact(10000), "more"), "request-9", book="eq")

    book = scribe.state.books["eq"]
    assert (book.peak, book.previous, book.units) == (Exact(22500), Exact(18000), Exact(22500))
    assert 1 - Exact(18000) / book.peak == 1 - Exact(8000) / Exact(10000)


def test_a_buy_reserves_its_limit_and_fee_until_it_ends_and_each_fill_reduces_it() -> None:
    scribe = desk()
    run = scribe.start_run("eq")
    (order,) = scribe.approve(run, ("AAA", Side.BUY, "400", "10"))
    assert reserved_cash(scribe.state.books["eq"]) == Exact(4002)

    scribe.fill(order, "1.1", "AAA", Side.BUY, "300", "9.5", fee="1.5")
    book = scribe.state.books["eq"]
    assert (reserved_cash(book), book.cash) == (Exact(1001), Exact("7148.5"))
    assert free_cash(book) == Exact("6147.5")

    close(scribe, order, OrderEnd.EXPIRED, "300")
    assert reserved_cash(scribe.state.books["eq"]) == Exact(0)


def test_a_sell_reserves_its_shares() -> None:
    scribe = desk()
    run = scribe.start_run("eq")
    scribe.approve(run, ("AAA", Side.SELL, "7", "10"), ("BBB", Side.SELL, "2", "10"))
    assert reserved_shares(scribe.state.books["eq"], "AAA:USD") == Exact(7)


def test_buys_add_their_full_cost_and_a_sell_leaves_the_average_unchanged() -> None:
    scribe = desk()
    run = scribe.start_run("eq")
    scribe.approve(run, ("AAA", Side.BUY, "3", "10"))
    scribe.fill(f"{run}-1", "1.1", "AAA", Side.BUY, "1", "10", fee="0.1")
    scribe.fill(f"{run}-1", "1.2", "AAA", Side.BUY, "2", "10", fee="0.2")
    assert scribe.state.books["eq"].holdings == {"AAA:USD": Holding(Exact(3), Exact("30.3"))}

    scribe.fill(f"{run}-1", "1.3", "AAA", Side.SELL, "2", "11", fee="0.3")
    book = scribe.state.books["eq"]
    assert book.holdings == {"AAA:USD": Holding(Exact(1), Exact("10.1"))}
    assert (book.cash, book.fees) == (Exact("9991.4"), Exact("0.6"))

    scribe.fill(f"{run}-1", "1.4", "AAA", Side.SELL, "1", "11", fee="0")
    assert scribe.state.books["eq"].holdings == {}


def test_the_account_knows_its_cash_only_once_it_was_reconciled() -> None:
    scribe = desk()
    run = scribe.start_run("eq")
    scribe.approve(run, ("AAA", Side.BUY, "3", "10"))
    scribe.fill(f"{run}-1", "1.1", "AAA", Side.BUY, "1", "10")
    assert scribe.state.account.cash is None

    scribe.write("executor", AccountReconciled("DU1", {"USD": Exact(1000)}, {}, ()), run, book="eq", run=run)
    scribe.fill(f"{run}-1", "1.2", "AAA", Side.BUY, "2", "10")
    assert scribe.state.account.cash == {"USD": Exact(979)}


def test_an_approved_order_counts_and_a_withheld_one_gives_its_count_back() -> None:
    scribe = desk()
    run = scribe.start_run("eq")
    first, second = scribe.approve(run, ("AAA", Side.BUY, "1", "10"), ("BBB", Side.BUY, "1", "10"))
    assert scribe.state.books["eq"].month == Counter("2022-10", 2)

    withhold(scribe, first)
    close(scribe, second, OrderEnd.EXPIRED, "0")
    book = scribe.state.books["eq"]
    assert (book.month, book.day) == (Counter("2022-10", 1), Counter("2022-10-03", 1))
    assert book.orders == {}


def test_counts_of_an_older_period_are_gone() -> None:
    assert (Counter("2022-09", 10).within("2022-10"), Counter("2022-10", 3).within("2022-10")) == (0, 3)


def test_halts_of_the_desk_and_of_a_book_are_kept_apart_and_lifted_apart() -> None:
    scribe = desk("eq", "mo")
    scribe.write("desk", HaltOrdered("_desk", "full", False, "drill"), "r1")
    scribe.write("desk", HaltOrdered("mo", "reduce_only", False, "drill"), "r2", book="mo")
    assert set(scribe.state.halts) == {"_desk"}
    assert (scribe.state.books["eq"].halt, scribe.state.books["mo"].halt is not None) == (None, True)

    scribe.write("desk", HaltReset("_desk", "over"), "r3")
    assert scribe.state.halts == {}
    assert scribe.state.books["mo"].halt is not None


def test_a_dry_event_changes_nothing() -> None:
    scribe = desk()
    before = state_hash(scribe.state)
    scribe.write("desk", CashDeposited(Exact(5), "dry"), "r1", book="eq", mode="dry")
    assert state_hash(scribe.state) == before


def test_ended_runs_stand_as_counts_and_a_digest() -> None:
    scribe = desk()
    run = scribe.start_run("eq")
    assert scribe.state.books["eq"].runs == (run,)
    scribe.write("agent", RunEnded(RunStatus.OK, ""), run, book="eq", run=run)
    book = scribe.state.books["eq"]
    assert (book.runs, book.counts, book.digest) == ((), {"ok": 1}, sha256_hex(f"{run}ok".encode()))


def test_fields_at_their_initial_value_are_left_out_of_the_hash() -> None:
    scribe = desk("eq")
    assert hashed_state(scribe.state) == {
        "account": {},
        "books": {"eq": {"cash": Exact(10000), "peak": Exact(10000), "units": Exact(10000)}},
        "halts": [],
    }
    expected = b'{"account":{},"books":{"eq":{"cash":"10000","peak":"10000","units":"10000"}},"halts":[]}'
    assert state_hash(scribe.state) == sha256_hex(expected)
    assert book_hash(scribe.state.books["eq"]) == sha256_hex(b'{"cash":"10000","peak":"10000","units":"10000"}')


def test_the_hash_covers_orders_reservations_and_counters_but_no_broker_ids() -> None:
    scribe = desk()
    run = scribe.start_run("eq")
    (order,) = scribe.approve(run, ("AAA", Side.BUY, "400", "10"))
    hashed = hashed_book(scribe.state.books["eq"])
    assert hashed["reservations"] == {"cash": Exact(4002)}
    assert hashed["orders"] == {order: {"state": "approved", "filled": Exact(0)}}
    assert hashed["month"] == {"period": "2022-10", "used": 1}
    assert hashed["runs"] == {run: "open"}


def test_a_book_that_is_opened_again_in_another_log_has_the_same_hash() -> None:
    first, second = Scribe().open_desk("eq"), Scribe()
    second.write("desk", BookOpened("other", "USD"), "eq", book="eq")
    second.write("desk", CashDeposited(Exact(10000), "x"), "eq", book="eq")
    assert book_hash(first.state.books["eq"]) == book_hash(second.state.books["eq"])
