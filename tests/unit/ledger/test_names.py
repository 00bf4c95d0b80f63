"""Which names are priced for a judgement."""

from msgspec.structs import replace

from shared.ledger.names import judged_names
from shared.ledger.state import State
from shared.protocol.market import Side
from shared.protocol.money import Exact
from shared.protocol.policy import AccountLimits, Limits
from tests.support.scribe import SLOT, Scribe
from tests.unit.gate.given import policy

ALPHA, BETA = (f"20221003T1030-{name}-1" for name in ("alpha", "beta"))


def desk() -> State:
    """Alpha holds AAA and buys BBB; beta holds BRK B and buys AAA."""
    scribe = Scribe().open_desk("alpha", "beta", policy=policy())
    scribe.clock("slot", SLOT, ("alpha", "beta"))
    scribe.approve(scribe.start_run("alpha"), ("AAA", Side.BUY, "1", "100"), ("BBB", Side.BUY, "1", "50"))
    scribe.approve(scribe.start_run("beta"), ("BRK B", Side.BUY, "1", "300"), ("AAA", Side.BUY, "1", "100"))
    scribe.fill(f"{ALPHA}-1", "e1", "AAA", Side.BUY, "1", "100")
    scribe.fill(f"{BETA}-1", "e2", "BRK B", Side.BUY, "1", "300")
    return scribe.state


def under(limits: Limits, account: AccountLimits) -> State:
    state = desk()
    assert state.policy is not None
    rules = replace(state.policy.policy, limits=limits, account=account)
    return replace(state, policy=replace(state.policy, policy=rules))


def test_it_needs_what_is_proposed_and_what_the_book_holds() -> None:
    assert judged_names(desk(), "alpha", ["ZZZ:USD", "AAA:USD"]) == ("AAA:USD", "ZZZ:USD")


def test_a_limit_on_exposure_needs_the_books_own_buys_at_work_too() -> None:
    state = under(Limits(max_gross_pct=Exact(50)), AccountLimits(max_orders_per_day=5))

    assert judged_names(state, "alpha", ["ZZZ:USD"]) == ("AAA:USD", "BBB:USD", "ZZZ:USD")


def test_a_limit_over_all_books_needs_what_all_of_them_hold_and_buy() -> None:
    for account in (AccountLimits(max_gross_pct=Exact(50)), AccountLimits(max_position_pct=Exact(50))):
        assert judged_names(under(Limits(), account), "alpha", []) == ("AAA:USD", "BBB:USD", "BRK B:USD")


def test_without_a_policy_nothing_is_summed() -> None:
    state = replace(desk(), policy=None)

    assert judged_names(state, "alpha", ["ZZZ:USD"]) == ("AAA:USD", "ZZZ:USD")
