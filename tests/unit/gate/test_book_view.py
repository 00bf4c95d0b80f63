"""A book of the ledger as judging sees it."""

from typing import Any

from msgspec.structs import replace

from services.gate.books import book_view
from shared.ledger.state import State
from shared.protocol.events import AccountBaselined, AccountReconciled, HaltOrdered, ReconciliationFailed
from shared.protocol.market import Side
from shared.protocol.money import Exact
from tests.support.scribe import SLOT, Scribe
from tests.unit.gate.given import policy

ALPHA, BETA = (f"20221003T1030-{name}-1" for name in ("alpha", "beta"))


def desk() -> Scribe:
    """Two books, each with a working BUY."""
    scribe = Scribe().open_desk("alpha", "beta", policy=policy())
    scribe.clock("slot", SLOT, ("alpha", "beta"))
    for name in ("alpha", "beta"):
        scribe.approve(scribe.start_run(name), ("AAA", Side.BUY, "5", "100"))
    return scribe


def view(state: State) -> Any:
    return book_view(state, policy(), "alpha", SLOT)


def test_its_own_orders_stand_apart_from_the_other_books() -> None:
    found = view(desk().state)

    assert [order.id for order in found.working] == [f"{ALPHA}-1"]
    assert [order.id for order in found.others] == [f"{BETA}-1"]


def test_its_cash_holdings_and_peak_are_the_ledgers() -> None:
    scribe = desk()
    scribe.fill(f"{ALPHA}-1", "e1", "AAA", Side.BUY, "2", "100")
    found = view(scribe.state)

    assert (str(found.cash), dict(found.holdings), str(found.peak)) == ("9799", {"AAA:USD": Exact(2)}, "10000")


def test_the_currencies_are_those_that_the_account_holds_cash_of() -> None:
    scribe = desk()
    assert view(scribe.state).currencies is None

    scribe.write("executor", AccountReconciled("DU1", {"USD": Exact(5), "AUD": Exact(0), "CAD": Exact(-1)}, {}, ()), "r1")

    assert view(scribe.state).currencies == ("USD",)


def test_a_failed_reconciliation_is_seen_until_the_next_good_one() -> None:
    scribe = desk()
    scribe.write("executor", ReconciliationFailed("DU1", ()), ALPHA, book="alpha", run=ALPHA)
    assert not view(scribe.state).reconciled

    scribe.write("executor", AccountReconciled("DU1", {}, {}, ()), BETA, book="beta", run=BETA)

    assert view(scribe.state).reconciled


def test_while_log_and_broker_differ_what_the_broker_has_for_the_books_is_seen() -> None:
    scribe = desk()
    scribe.write("desk", AccountBaselined("DU1", {"AAA:USD": Exact(5)}, {}, "mine"), "b1")
    assert view(scribe.state).at_broker is None

    failed = ReconciliationFailed("DU1", (), {"USD": Exact(-3)}, {"AAA:USD": Exact(7)})
    scribe.write("executor", failed, ALPHA, book="alpha", run=ALPHA)
    found = view(scribe.state)
    assert (found.at_broker, found.borrowed) == ({"AAA:USD": Exact(2)}, ("USD",))

    scribe.write("executor", ReconciliationFailed("DU1", ()), BETA, book="beta", run=BETA)
    unknown = view(scribe.state)
    assert (unknown.at_broker, unknown.borrowed) == (None, ())


def test_halts_are_the_desks_and_its_own() -> None:
    scribe = desk()
    for scope in ("beta", "alpha", "_desk"):
        scribe.write("executor", HaltOrdered(scope, "full", False, scope), f"h-{scope}", book=scope)

    assert [halt.reason for halt in view(scribe.state).halts] == ["_desk", "alpha"]


def test_what_a_buy_without_a_schedule_reserves_is_unknown() -> None:
    state = desk().state
    order = state.books["alpha"].orders[f"{ALPHA}-1"]

    def with_order(**changes: Any) -> State:
        changed = replace(state.books["alpha"], orders={order.id: replace(order, **changes)})
        return replace(state, books={**state.books, "alpha": changed})

    assert view(state).reserves
    assert not view(with_order(schedule=None)).reserves
    assert view(with_order(schedule=None, side=Side.SELL)).reserves


def test_the_other_books_are_summed_up() -> None:
    scribe = desk()
    scribe.fill(f"{BETA}-1", "e1", "AAA", Side.BUY, "2", "100")
    scribe.fill(f"{ALPHA}-1", "e2", "AAA", Side.BUY, "1", "100")
    rest = view(scribe.state).rest

    # beta: 10000 − 2 × 100 − 1, and one order approved
    assert (str(rest.cash), dict(rest.holdings), rest.used_day) == ("9799", {"AAA:USD": Exact(2)}, 1)


def test_orders_of_other_books_count_on_their_own_day_only() -> None:
    later = book_view(desk().state, policy(), "alpha", "2022-10-04T14:30:00.000000Z")

    assert later.rest.used_day == 0
