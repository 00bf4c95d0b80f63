"""A dry run, whatever it finds, leaves the live state and what is owed as they were."""

from typing import Any

from msgspec.structs import replace

from shared.ledger.hashing import state_hash
from shared.ledger.owed import owed
from shared.protocol.events import (
    AccountReconciled,
    BookValued,
    Breach,
    Data,
    HaltTripped,
    OrderIntended,
    OrdersUsed,
    ProposalMade,
    ReconciliationFailed,
    RunCleared,
    RunEnded,
    RunStarted,
    RunStopped,
    Verdict,
)
from shared.protocol.market import Side
from shared.protocol.money import Exact
from shared.protocol.reasons import RunStatus, StopReason
from tests.support.scribe import SESSION, SLOT, Scribe, decision
from tests.unit.gate.walk import observed

RUN = "20221003T1031-alpha-1"


def test_a_dry_run_at_30_percent_drawdown_changes_nothing_but_the_place_in_the_log() -> None:
    scribe = Scribe().open_desk("alpha")
    scribe.clock("slot", SLOT, ("alpha",))
    run = scribe.start_run("alpha")
    scribe.approve(run, ("AAA", Side.BUY, "60", "100"))
    scribe.fill(f"{run}-1", "e1", "AAA", Side.BUY, "60", "100")
    before, work = scribe.state, owed(scribe.state)

    breach = Breach(2, SLOT, "q", RUN, ("e1", "e2"))
    down: dict[str, Any] = {
        "cash": Exact(3999),
        "value": Exact(7000),
        "peak": Exact(9000),
        "previous": Exact(7000),
        "drawdown_pct": Exact(30),
    }
    valued = BookValued("run", holdings=(), used=OrdersUsed(1, 1), evidence=(), quoted="q", breach=breach, **down)
    sell = decision(1, ("AAA", Side.SELL, "60", "49.5"), f"{RUN}-1")
    told: tuple[tuple[str, Data], ...] = (
        ("agent", RunStarted("scripted", SLOT, SESSION, ("AAA:USD",))),
        ("executor", AccountReconciled("DU1", {"USD": Exact(1)}, {}, ())),
        ("executor", ReconciliationFailed("DU1", ())),
        ("executor", observed("run", SLOT, {"AAA": "50"})),
        ("gate", valued),
        ("gate", HaltTripped("alpha", "full", True, "kill_switch", "", None, None, None, None, ())),
        ("gate", RunStopped(RunStatus.KILL_SWITCH, "")),
        ("gate", RunCleared(Exact(7000))),
        ("agent", ProposalMade("scripted", (), "", StopReason.SUBMITTED)),
        ("gate", Verdict("liquidation", (sell,), (), Exact(7000), Exact(30), "p", "2", (), SLOT)),
        ("executor", OrderIntended(f"{RUN}-1", "AAA", "USD", "SMART", Side.SELL, Exact(60), Exact("49.5"), f"{RUN}-1")),
        ("agent", RunEnded(RunStatus.DRY_RUN, "")),
    )
    for author, data in told:
        scribe.write(author, data, RUN, book="alpha", run=RUN, mode="dry")

    assert replace(scribe.state, seq=before.seq) == before
    assert (owed(scribe.state), state_hash(scribe.state)) == (work, state_hash(before))
