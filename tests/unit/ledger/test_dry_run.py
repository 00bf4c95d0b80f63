"""A dry run walks as any run does and leaves the live state as it was, whatever it finds; what does not fit it is no fact."""

from typing import Any

import pytest
from msgspec.structs import replace

from shared.ledger.dry import as_found, mode_of
from shared.ledger.hashing import state_hash
from shared.ledger.owed import next_of, owed
from shared.ledger.state import State
from shared.protocol.envelope import EnvelopeError
from shared.protocol.events import (
    AccountReconciled,
    BookValued,
    Breach,
    Data,
    Difference,
    HaltTripped,
    OrderIntended,
    OrdersUsed,
    ProposalMade,
    ReconciliationFailed,
    RunCleared,
    RunEnded,
    RunSettled,
    RunStarted,
    RunStopped,
    SourceFailed,
    Verdict,
)
from shared.protocol.market import Side
from shared.protocol.money import Exact
from shared.protocol.reasons import RunStatus, SourceFault, StopReason
from tests.support.scribe import SESSION, SLOT, Scribe, decision
from tests.unit.gate.walk import observed

RUN = "20221003T1030-beta-1"
STARTED = RunStarted("scripted", SLOT, SESSION, ("AAA:USD",))
DOWN: dict[str, Any] = {"cash": Exact(3999), "value": Exact(7000), "peak": Exact(9000), "previous": Exact(7000)}
BREACH = Breach(2, SLOT, "q", RUN, ("e1", "e2"))
VALUED = BookValued(
    "run", holdings=(), drawdown_pct=Exact(30), used=OrdersUsed(1, 1), evidence=(), quoted="q", breach=BREACH, **DOWN
)
SELL = decision(1, ("AAA", Side.SELL, "60", "49.5"), f"{RUN}-1")
WALK: tuple[tuple[str, Data, int], ...] = (
    ("agent", STARTED, 1),
    ("executor", AccountReconciled("DU1", {"USD": Exact(1)}, {}, ()), 1),
    ("executor", observed("run", SLOT, {"AAA": "50"}), 1),
    ("gate", VALUED, 1),
    ("gate", RunCleared(Exact(7000)), 1),
    ("agent", ProposalMade("scripted", (), "", StopReason.SUBMITTED), 1),
    ("executor", observed("verdict", SLOT, {"AAA": "50"}), 2),
    ("gate", Verdict("proposal", (SELL,), (), Exact(7000), Exact(30), "p", "2", (), SLOT), 1),
    ("executor", RunSettled(0, 0, 0), 1),
    ("agent", RunEnded(RunStatus.DRY_RUN, ""), 1),
)


def slot(*dry: str) -> Scribe:
    """The first slot, with a live run of `alpha` that has bought, and then a run of `beta`."""
    scribe = Scribe().open_desk("alpha", "beta")
    scribe.clock("slot", SLOT, ("alpha", "beta"), dry=dry)
    run = scribe.start_run("alpha")
    scribe.approve(run, ("AAA", Side.BUY, "60", "100"))
    scribe.fill(f"{run}-1", "e1", "AAA", Side.BUY, "60", "100")
    return scribe


def tries(scribe: Scribe, author: str, data: Data, k: int = 1, mode: str = "dry") -> None:
    scribe.write(author, data, RUN, book="beta", run=RUN, k=k, mode=mode)


def live(state: State) -> State:
    """All but the place in the log and how far runs are."""
    return replace(state, seq=0, runs={}, step=None)


def test_each_event_of_the_walk_is_owed_in_turn_and_the_live_state_stays() -> None:
    scribe = slot("beta")
    before, others = live(scribe.state), scribe.state.runs
    for author, data, k in WALK:
        items = [item for item in owed(scribe.state) if item.run == RUN]
        if data is not STARTED:
            assert [(item.author, item.type, item.k) for item in items] == [(author, type(data).__name__, k)]
        tries(scribe, author, data, k)
        assert (live(scribe.state), state_hash(scribe.state)) == (before, state_hash(before))
        assert mode_of(scribe.state, RUN) == ("sim" if isinstance(data, RunEnded) else "dry")
    assert scribe.state.runs == others


@pytest.mark.parametrize(
    "found",
    [
        RunStopped(RunStatus.HALTED, ""),
        SourceFailed(SourceFault.CRASHED, ""),
    ],
)
def test_a_stopped_or_failed_dry_run_only_lacks_its_end(found: Data) -> None:
    scribe = slot("beta")
    before = live(scribe.state)
    tries(scribe, "agent", STARTED)
    tries(scribe, "agent" if isinstance(found, SourceFailed) else "gate", found)
    assert [item.type for item in owed(scribe.state) if item.run == RUN] == ["RunEnded"]
    assert live(scribe.state) == before


def test_what_a_dry_run_may_never_say_changes_nothing() -> None:
    scribe = slot("beta")
    tries(scribe, "agent", STARTED)
    before, work = scribe.state, owed(scribe.state)
    tries(scribe, "gate", HaltTripped("beta", "full", True, "kill_switch", "", None, None, None, None, ()))
    tries(scribe, "executor", OrderIntended(f"{RUN}-1", "AAA", "USD", "SMART", Side.SELL, Exact(60), Exact("49.5"), f"{RUN}-1"))
    assert replace(scribe.state, seq=before.seq) == before
    assert owed(scribe.state) == work


def test_a_dry_run_is_judged_on_what_it_found_itself() -> None:
    scribe = slot("beta")
    tries(scribe, "agent", STARTED)
    tries(scribe, "executor", ReconciliationFailed("DU1", (Difference("AAA:USD", "1", "0"),)))
    tries(scribe, "gate", VALUED)
    seen = as_found(scribe.state, scribe.state.runs[RUN])
    assert (scribe.state.account.failed, seen.account.failed) == (False, True)
    assert (scribe.state.books["beta"].breach, seen.books["beta"].breach) == (None, BREACH)
    assert seen.books["beta"].peak == Exact(10000)
    other = next(run for name, run in scribe.state.runs.items() if name != RUN)
    assert as_found(scribe.state, other) is scribe.state


def test_a_dry_run_holds_up_no_trip_of_its_book() -> None:
    scribe = slot("beta")
    tries(scribe, "agent", STARTED)
    tries(scribe, "gate", VALUED)
    breached = {**scribe.state.books, "beta": replace(scribe.state.books["beta"], breach=BREACH, value=Exact(7000))}
    state = replace(scribe.state, books=breached)
    trip = next_of(owed(state), "gate")
    assert trip is not None
    assert [(item.type, item.run) for item in owed(state) if item.book == "beta"] == [
        ("AccountReconciled", RUN),
        ("HaltTripped", None),
    ]


@pytest.mark.parametrize(("due_dry", "mode"), [((), "dry"), (("alpha",), "dry"), (("beta",), "sim")])
def test_a_run_started_in_another_mode_than_the_clock_says_is_no_fact(due_dry: tuple[str, ...], mode: str) -> None:
    scribe = Scribe().open_desk("alpha", "beta")
    scribe.clock("slot", SLOT, ("beta",), dry=due_dry)
    before = scribe.state
    with pytest.raises(EnvelopeError, match=f"due in another mode than {mode}"):
        tries(scribe, "agent", STARTED, mode=mode)
    assert scribe.state == before


@pytest.mark.parametrize(("of_run", "of_event"), [("dry", "sim"), ("sim", "dry")])
def test_an_event_of_another_mode_than_its_run_is_no_fact(of_run: str, of_event: str) -> None:
    scribe = slot(*(("beta",) if of_run == "dry" else ()))
    tries(scribe, "agent", STARTED, mode=of_run)
    before = scribe.state
    for data in (ProposalMade("scripted", (), "", StopReason.SUBMITTED), RunEnded(RunStatus.OK, "")):
        with pytest.raises(EnvelopeError, match=f"not of mode {of_event}"):
            tries(scribe, "agent", data, mode=of_event)
    assert scribe.state == before
