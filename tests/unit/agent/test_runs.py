"""A run as the agent sees it: start, view, answer, end."""

import pytest
from msgspec.structs import replace

from services.agent.runs import Unready, args_of, concluded, ended, needed, references_of, started, think, view_of
from services.agent.sources import Close, Fault, Proposal, RunView
from services.agent.sources.equal_weight import EqualWeight
from shared.ledger.owed import Owed
from shared.protocol.events import ProposalMade, RunEnded, RunSettled, RunStarted, SourceFailed, StateHashed, Verdict
from shared.protocol.market import Instrument, ProposedOrder, Side
from shared.protocol.money import Exact
from shared.protocol.policy import Policy
from shared.protocol.reasons import RunStatus, SourceFault, StopReason
from tests.support.scribe import POLICY, SESSION, SLOT, decision
from tests.unit.agent.walk import NOTHING, SESSIONS, Walk, market

RUN = "20221003T1030-equal_weight-1"
ORDER = ProposedOrder("AAA", "USD", "BUY", "1", "101", "because")


def running(kind: str = "equal_weight") -> Walk:
    """A desk whose only book's run has started."""
    walk = Walk(kind)
    walk.take(started(walk.state, walk.item))
    return walk


def test_a_run_starts_at_its_slot_and_asks_for_the_whole_universe() -> None:
    walk = Walk("equal_weight")

    draft = started(walk.state, walk.item)

    assert draft.data == RunStarted("equal_weight", SLOT, SESSION, ("AAA:USD", "BBB:USD"))
    assert (draft.id, draft.subject) == (f"agent:RunStarted:{RUN}", "ev.agent.equal_weight.RunStarted")
    assert (draft.at, draft.run, draft.as_of) == (SLOT, RUN, walk.state.seq)
    assert draft.cause == "desk:ClockAdvanced:_desk-20221003T143000Z"


def test_names_are_sorted_whatever_the_order_of_the_universe() -> None:
    universe = tuple(Instrument(symbol, "SMART", "USD") for symbol in ("BBB", "AAA"))
    walk = Walk("hold", policy=replace(POLICY, universe=universe))

    data = started(walk.state, walk.item).data

    assert isinstance(data, RunStarted)
    assert data.names == ("AAA:USD", "BBB:USD")


def test_a_view_shows_the_runs_own_valuation_and_prices() -> None:
    walk = running().cleared(held={"AAA": "10"})

    assert view_of(walk.state, walk.run, {}) == RunView(
        session=SESSION,
        index=0,
        sessions=SESSIONS,
        names=("AAA:USD", "BBB:USD"),
        cash=Exact(9000),
        holdings={"AAA:USD": Exact(10)},
        value=Exact(10000),
        references={"AAA:USD": Exact(100), "BBB:USD": Exact(50)},
        fx={"USD": Exact(1)},
        history={},
    )


def test_a_view_never_shows_the_running_sessions_own_bar_or_a_later_one() -> None:
    walk = running().cleared()
    bars = tuple(Close(day, Exact(1)) for day in ("2022-09-29", "2022-09-30", SESSION, "2022-10-04"))

    view = view_of(walk.state, walk.run, {"AAA:USD": bars})

    assert [close.day for close in view.history["AAA:USD"]] == ["2022-09-29", "2022-09-30"]


def test_a_quote_without_a_price_gives_no_reference() -> None:
    observed = replace(market("run", {"AAA": "100"}), quotes=(*market("run", {"AAA": "100", "BBB": "0"}).quotes,))

    assert references_of(observed, POLICY) == {"AAA:USD": Exact(100)}


def test_a_source_that_raises_is_its_own_fault() -> None:
    class Broken:
        """A source with a bug."""

        def history_needed(self, view: RunView) -> int:
            raise ZeroDivisionError("by nothing")

        def propose(self, view: RunView) -> Proposal:
            raise ZeroDivisionError("by zero")

    walk = running().cleared()
    view = view_of(walk.state, walk.run, {})

    assert think(Broken(), view) == Fault(SourceFault.CRASHED, "ZeroDivisionError: by zero")
    assert needed(Broken(), view) == Fault(SourceFault.CRASHED, "ZeroDivisionError: by nothing")


def test_an_answer_is_written_as_the_runs_proposal() -> None:
    walk = running().cleared()

    draft = concluded(walk.state, walk.item, Proposal((ORDER,), "one order"))

    assert draft.data == ProposalMade("equal_weight", (ORDER,), "one order", StopReason.SUBMITTED)
    assert (draft.id, draft.cause) == (f"agent:ProposalMade:{RUN}", f"gate:RunCleared:{RUN}")
    assert (draft.book, draft.run, draft.at) == ("equal_weight", RUN, SLOT)


def test_equal_states_at_different_places_in_the_log_give_equal_data() -> None:
    early, late = running().cleared(), running().cleared()
    late.write("journal", StateHashed("2022-09-30", "0" * 64), "2022-09-30")

    data = [concluded(w.state, w.item, think(EqualWeight(), view_of(w.state, w.run, {}))).data for w in (early, late)]

    assert data[0] == data[1]


def test_a_stopped_run_ends_with_the_status_that_the_gate_gave() -> None:
    walk = running().stopped(RunStatus.HALTED, "halted by the operator")

    draft = ended(walk.state, walk.item)

    assert draft.data == RunEnded(RunStatus.HALTED, "halted by the operator")
    assert (draft.id, draft.cause) == (f"agent:RunEnded:{RUN}", f"gate:RunStopped:{RUN}")


def test_a_fault_ends_the_run_as_source_failed_naming_its_kind() -> None:
    walk = running().cleared()
    failed = concluded(walk.state, walk.item, Fault(SourceFault.CRASHED, "ValueError: x"))
    walk.take(failed)

    draft = ended(walk.state, walk.item)

    assert failed.data == SourceFailed(SourceFault.CRASHED, "ValueError: x")
    assert draft.data == RunEnded(RunStatus.SOURCE_FAILED, "crashed: ValueError: x")
    assert draft.cause == f"agent:SourceFailed:{RUN}"


def test_a_settled_run_ends_ok_and_counts_what_became_of_its_orders() -> None:
    walk = running().cleared()
    walk.settled(concluded(walk.state, walk.item, Proposal((ORDER,) * 7, "seven")), filled=2, unfilled=1, withheld=1)

    draft = ended(walk.state, walk.item)

    assert draft.data == RunEnded(RunStatus.OK, "7 proposed, 3 blocked, 2 filled, 1 not filled, 1 withheld")
    assert draft.cause == f"executor:RunSettled:{RUN}"


def test_an_empty_submission_is_a_deliberate_hold_and_ok() -> None:
    walk = running().cleared()
    walk.settled(concluded(walk.state, walk.item, NOTHING))

    assert ended(walk.state, walk.item).data == RunEnded(
        RunStatus.OK, "0 proposed, 0 blocked, 0 filled, 0 not filled, 0 withheld"
    )


def test_a_source_that_did_not_submit_ends_as_held_with_its_words() -> None:
    walk = running().cleared()
    walk.settled(concluded(walk.state, walk.item, Proposal((), "not a rebalancing day", StopReason.HELD)))

    assert ended(walk.state, walk.item).data == RunEnded(RunStatus.HELD, "not a rebalancing day")


@pytest.mark.parametrize("stop_reason", list(StopReason))
def test_a_run_whose_account_did_not_reconcile_ends_as_reconcile_failed(stop_reason: StopReason) -> None:
    walk = running().cleared(failed=True)
    walk.settled(concluded(walk.state, walk.item, Proposal((), "words", stop_reason)))

    data = ended(walk.state, walk.item).data

    assert isinstance(data, RunEnded)
    assert data.status is RunStatus.RECONCILE_FAILED


def test_a_stop_wins_over_a_failed_reconciliation() -> None:
    walk = running().cleared(failed=True)
    walk.stopped(RunStatus.MARKET_CLOSED, "closed")

    data = ended(walk.state, walk.item).data

    assert isinstance(data, RunEnded)
    assert data.status is RunStatus.MARKET_CLOSED


def test_what_the_log_does_not_provide_for_is_an_error_that_says_so() -> None:
    walk = running()

    with pytest.raises(Unready, match="other"):
        args_of(walk.state, "other")
    with pytest.raises(Unready, match="cannot end"):
        ended(walk.state, Owed("agent", "RunEnded", RUN, "equal_weight", RUN))
    with pytest.raises(Unready, match="not cleared"):
        concluded(walk.state, Owed("agent", "ProposalMade", RUN, "equal_weight", RUN), NOTHING)
    with pytest.raises(Unready, match="lacks"):
        view_of(walk.state, walk.run, {})


def test_a_policy_without_a_universe_gives_an_empty_one() -> None:
    walk = Walk("equal_weight", policy=Policy("USD"))
    walk.take(started(walk.state, walk.item))
    walk.cleared({})

    outcome = think(EqualWeight(), view_of(walk.state, walk.run, {}))

    assert outcome == Proposal((), "the universe is empty", StopReason.HELD)


def test_a_run_that_the_clock_calls_dry_is_dry_to_its_end_and_says_what_would_have_been_sent() -> None:
    walk = Walk("hold", dry=("hold",))
    walk.take(started(walk.state, walk.item))
    walk.cleared()
    proposal = concluded(walk.state, walk.item, Proposal((ORDER, ORDER), "two"))
    walk.take(proposal)
    walk.of_run("executor", market("verdict", {"AAA": "100"}), k=2)
    passed = decision(1, ("AAA", Side.BUY, "1", "101"), f"{walk.run.id}-1")
    blocked = replace(passed, index=2, approved=False, order=None)
    walk.of_run("gate", Verdict("proposal", (passed, blocked), (), Exact(10000), Exact(0), "p", "1", (), SLOT))
    walk.of_run("executor", RunSettled(0, 0, 0))
    draft = ended(walk.state, walk.item)
    told = "dry run: 2 proposed, 1 would be sent, 1 would not, nothing was sent"
    assert (proposal.mode, draft.mode, draft.data) == ("dry", "dry", RunEnded(RunStatus.DRY_RUN, told))
