"""What a reconciliation, failed or not, and a baseline leave in the account, field by field."""

import pytest
from msgspec.structs import replace

from shared.ledger.account_state import Account, Approval
from shared.ledger.approvals import is_expired
from shared.ledger.state import State
from shared.protocol.events import AccountBaselined, AccountReconciled, Difference, ReconciliationFailed
from shared.protocol.ids import DESK_BOOK
from shared.protocol.money import Exact
from tests.support.scribe import SLOT, Scribe

FIVE, SIX = {"USD": Exact(5)}, {"USD": Exact(6)}
HELD, LEFT = {"AAA:USD": Exact(3)}, {"AAA:USD": Exact(2)}
SHARES = Difference("AAA:USD", "3", "2")
RUN = "20221003T1030-eq-1"


def desk() -> Scribe:
    """A desk in a run whose account was reconciled."""
    scribe = Scribe().open_desk("eq")
    scribe.clock("slot", SLOT, ("eq",))
    run = scribe.start_run("eq")
    seen = AccountReconciled("DU1", FIVE, HELD, (), unattributed={"USD": Exact(1)}, pending=("o1",), awaited={"USD": Exact(2)})
    scribe.write("executor", seen, run, book="eq", run=run)
    return scribe


def failed(data: ReconciliationFailed, about: str = RUN, run: str | None = RUN, book: str = "eq") -> State:
    scribe = desk()
    scribe.write("executor", data, about, book=book, run=run)
    return scribe.state


def test_an_account_that_agrees_is_known_in_full() -> None:
    # of 5 in cash 1 is unattributed and 2 belong to an order at work
    assert desk().state.account == Account(
        cash={"USD": Exact(2)},
        name="DU1",
        found=FIVE,
        positions=HELD,
        last_positions=HELD,
        unattributed={"USD": Exact(1)},
        pending=("o1",),
        looked_at=SLOT,
    )


def test_an_account_that_differs_is_what_the_broker_said() -> None:
    before = desk().state.account

    assert failed(ReconciliationFailed("DU2", (SHARES,), SIX, LEFT)).account == replace(
        before, failed=True, name="DU2", found=SIX, positions=LEFT, last_positions=LEFT, differences=(SHARES,), pending=()
    )


def test_what_the_broker_did_not_say_is_unknown_but_for_its_last_complete_answer() -> None:
    before = desk().state.account

    assert failed(ReconciliationFailed(None, ())).account == replace(
        before, failed=True, name="DU1", found=None, positions=None, last_positions=HELD, differences=(), pending=()
    )


@pytest.mark.parametrize(
    ("about", "run", "book", "failures"),
    [
        (f"{DESK_BOOK}-20221003T143000Z", None, DESK_BOOK, 1),
        (RUN, RUN, "eq", 0),
        ("20221003T1030-eq-1-1", None, DESK_BOOK, 0),
        (f"{DESK_BOOK}-20221003T143000Z", RUN, "eq", 0),
    ],
)
def test_only_failures_of_the_step_itself_are_counted(about: str, run: str | None, book: str, failures: int) -> None:
    step = failed(ReconciliationFailed("DU1", ()), about, run, book).step

    assert step is not None
    assert step.failures == failures


def test_each_failure_of_a_step_counts_once() -> None:
    scribe = desk()
    for k in (1, 2):
        scribe.write("executor", ReconciliationFailed("DU1", ()), f"{DESK_BOOK}-20221003T143000Z", k=k)

    assert scribe.state.step is not None
    assert scribe.state.step.failures == 2


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ((SHARES, Difference("cash", None, "7")), "AAA:USD: expected 3, found 2; cash: expected unknown, found 7"),
        ((Difference("cash", "7", None),), "cash: expected 7, found unknown"),
        ((), "reconciliation failed"),
    ],
)
def test_a_final_failure_says_every_line(lines: tuple[Difference, ...], problem: str) -> None:
    assert failed(ReconciliationFailed("DU1", lines, final=True)).problem == problem
    assert failed(ReconciliationFailed("DU1", lines)).problem is None


@pytest.mark.parametrize(("cash", "after"), [(SIX, SIX), ({}, {"USD": Exact(2)})])
def test_a_baseline_forgets_what_was_unattributed(cash: dict[str, Exact], after: dict[str, Exact]) -> None:
    scribe = desk()
    before = scribe.state.account
    scribe.write("desk", AccountBaselined("DU1", LEFT, cash, "not ours"), "r1")

    assert scribe.state.account == replace(before, baseline=LEFT, cash=after, unattributed={}, adopted=True)


def test_without_a_policy_or_a_time_every_approval_is_too_old() -> None:
    scribe = desk()
    waits = Approval("o", "eq", RUN, "AAA", "USD", "BUY", Exact(1), Exact(1), SLOT, "p")

    assert not is_expired(scribe.state, waits)
    assert is_expired(replace(scribe.state, policy=None), waits)
    assert is_expired(replace(scribe.state, step=None), waits)
