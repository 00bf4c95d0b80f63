"""Dry runs between live ones: the live state and its hash are those of the same log without them."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from services.gate import decisions as gate
from shared.ledger.hashing import state_hash
from shared.ledger.owed import next_of, owed
from shared.protocol.events import AccountReconciled, ProposalMade, ReconciliationFailed, RunEnded, RunSettled
from shared.protocol.market import ProposedOrder, Side
from shared.protocol.money import Exact
from shared.protocol.reasons import RunStatus, StopReason
from tests.support.scribe import POLICY, Scribe
from tests.unit.gate.walk import observed

AT_ONCE = replace(POLICY, limits=replace(POLICY.limits, drawdown_confirmations=1))
SHARES = st.integers(1, 60).map(str)
PRICE = st.integers(10, 300).map(str)
ORDER = st.tuples(st.sampled_from(["BUY", "SELL"]), SHARES, PRICE)
TRY = st.tuples(st.booleans(), PRICE, PRICE, st.lists(ORDER, max_size=3), st.integers(0, 8))
DAYS = st.lists(st.tuples(SHARES, PRICE, PRICE, TRY), min_size=1, max_size=4)


def live(scribe: Scribe, shares: str, price: str, worth: str, execution: str) -> None:
    """A run of `alpha` that buys, and is then valued."""
    run = scribe.start_run("alpha")
    scribe.approve(run, ("AAA", Side.BUY, shares, price))
    scribe.fill(f"{run}-1", execution, "AAA", Side.BUY, shares, price)
    scribe.value("alpha", worth, run=run, previous=worth)


def dry(scribe: Scribe, tried: tuple[bool, str, str, list[tuple[str, str, str]], int]) -> None:
    """A dry run of `beta` as the real gate judges it, up to any stage; one that goes on ends at last."""
    failed, first, second, orders, stages = tried
    run, at = scribe.start_run("beta"), scribe.state.now or ""
    proposed = tuple(ProposedOrder("AAA", "USD", side, shares, limit) for side, shares, limit in orders)
    account = ReconciliationFailed("DU1", ()) if failed else AccountReconciled("DU1", {"USD": Exact(5)}, {}, ())
    given_by = {
        "AccountReconciled": account,
        "ProposalMade": ProposalMade("scripted", proposed, "", StopReason.SUBMITTED),
        "RunSettled": RunSettled(0, 0, 0),
        "RunEnded": RunEnded(RunStatus.DRY_RUN, ""),
    }
    for _ in range(stages):
        if run not in scribe.state.runs:
            return
        item = next(item for item in owed(scribe.state) if item.run == run)
        if item.author == "gate":
            draft = gate.decide(scribe.state, item)
            assert draft is not None
            assert draft.mode == "dry"
            data = draft.data
        elif item.type == "MarketObserved":
            data = observed(
                "run" if item.k == 1 else "verdict", at, {"AAA": first if item.k == 1 else second}, f"{at[:10]}T20:00:00.000000Z"
            )
        else:
            data = given_by[item.type]
        scribe.write(item.author, data, run, book="beta", run=run, k=item.k)
    if run in scribe.state.runs:
        scribe.write("agent", RunEnded(RunStatus.ERROR, ""), run, book="beta", run=run)


@given(DAYS)
def test_the_live_state_and_its_hash_are_the_same_with_and_without_dry_runs(days: list) -> None:
    with_tries, without = (Scribe().open_desk("alpha", "beta", policy=AT_ONCE) for _ in range(2))
    for day, (shares, price, worth, tried) in enumerate(days, start=3):
        for scribe in (with_tries, without):
            slot, session = f"2022-10-{day:02}T14:30:00.000000Z", f"2022-10-{day:02}"
            dry_books = ("beta",) if scribe is with_tries else ()
            scribe.clock("slot", slot, ("alpha", "beta"), session=session, dry=dry_books)
            live(scribe, shares, price, worth, f"e{day}")
        dry(with_tries, tried)
        ours, theirs = with_tries.state, without.state
        assert state_hash(ours) == state_hash(theirs)
        assert (ours.halts, ours.approvals, ours.attempts) == (theirs.halts, theirs.approvals, theirs.attempts)
        assert (ours.account, ours.books["beta"]) == (theirs.account, theirs.books["beta"])
        assert not any(run.dry for run in ours.runs.values())
        assert next_of(owed(ours), "executor") == next_of(owed(theirs), "executor")
