"""Dry runs through the real processes: judged as ever, and nothing comes of them.

The book `alpha` buys 50 AAA at 100.02 and 60 BBB at 50.01, with 1.00 of fees each: 10000 − 5002 − 3001.60 leaves 1996.40 in cash.
At 0.6 of the prices it is worth 1996.40 + 3000 + 1800 = 6796.40, which is 32.036 % below the peak of 10000.
"""

from pathlib import Path

from shared.ledger.fold import apply
from shared.ledger.hashing import book_hash, state_hash
from shared.ledger.state import State
from shared.protocol.envelope import read_event
from tests.faults.scenarios.stage import MON, TUE, WED, Stage, entry, moved
from tests.support.desks import command, read_log, run_json

BOUGHT = [("BUY", "AAA", 50, "101"), ("BUY", "BBB", 60, "51")]
AT_ONCE = "drawdown_confirmations = 1"


def test_a_dry_run_at_30_percent_drawdown_leaves_the_live_state_alone_and_the_next_live_run_trips(tmp_path: Path) -> None:
    # the crash is over before Tuesday's close and back at Wednesday's slot
    scenario = moved("0.6", session=TUE, at="10:30") + moved("0.6", session=WED, at="10:30") + entry("dry", session=TUE)
    decisions = {MON: BOUGHT, TUE: [("SELL", "AAA", 10, "60"), ("BUY", "CCC", 10, "12.1")]}
    stage = Stage(tmp_path).rules(AT_ONCE)
    played = stage.play(scenario, {"alpha": decisions}, days=3)
    log = played.log

    assert played.code == 0, played.err
    assert log.statuses("alpha") == {MON: "ok", TUE: "dry_run", WED: "kill_switch"}
    dry = [event for event in log.all if event["mode"] == "dry"]
    assert [event["type"] for event in dry] == [
        "RunStarted", "AccountReconciled", "MarketObserved", "BookValued", "RunCleared",
        "ProposalMade", "MarketObserved", "Verdict", "RunSettled", "RunEnded",
    ]  # fmt: skip
    assert {event["at"][:10] for event in dry} == {TUE}
    (valued,) = [event["data"] for event in dry if event["type"] == "BookValued"]
    assert (valued["value"], valued["drawdown_pct"], valued["peak"]) == ("6796.4", "32.036", "10000")
    (verdict,) = [event["data"] for event in dry if event["type"] == "Verdict"]
    assert {row["side"]: row["approved"] for row in verdict["decisions"]} == {"SELL": True, "BUY": False}
    assert verdict["block"][0]["rule"] == "drawdown"
    # nothing of Tuesday is at the broker, and the only halt is Wednesday's
    assert [order.symbol for order in played.sent("BUY")] == ["AAA", "BBB"]
    (halt,) = log.of("HaltTripped")
    assert halt["at"].startswith(WED)
    assert {(order.symbol, str(order.quantity)) for order in played.sent("SELL")} == {("AAA", "50"), ("BBB", "60")}
    _live_state_stays(stage, dry)
    told = command("explain", dry[0]["run"], "--dir", str(stage.desk)).stdout
    assert "of a dry run: dry_run" in told.splitlines()[0]
    assert "[dry] the run ends, dry_run: dry run: 2 proposed, 1 would be sent, 1 would not, nothing was sent" in told


def _live_state_stays(stage: Stage, dry: list[dict[str, object]]) -> None:
    """Hashes of desk and book, peak, valuation and counters are the same before and after each dry event."""
    state, seen = State(), set()
    ids = {event["id"] for event in dry}
    for message in read_log(stage.desk):
        event = read_event(message.seq, message.subject, message.payload)
        before, state = state, apply(state, event)
        if event.id in ids:
            book = state.books["alpha"]
            assert (state.books, state.account, state.halts) == (before.books, before.account, before.halts)
            seen.add((state_hash(state), book_hash(book), book.peak, book.month.used, book.halt))
    assert len(seen) == 1


def test_a_whole_run_can_be_dry(tmp_path: Path) -> None:
    result = run_json(tmp_path / "desk", "--days", "2", "--dry")
    assert {event["data"]["status"] for event in _events(tmp_path / "desk", "RunEnded")} == {"dry_run"}
    assert _events(tmp_path / "desk", "OrderIntended") == []
    assert {(*book["orders"].values(), book["value"]) for book in result["books"]} == {(0, 0, 0, 0, "10000.00")}


def _events(desk: Path, kind: str) -> list[dict]:
    return [message.event for message in read_log(desk) if message.event["type"] == kind]
