"""Runs that the desk causes, as rows and as stories."""

from services.journal.changes import Change, RunChange
from services.journal.gathering import Gatherer
from services.journal.projection import changes
from services.journal.rows import RunRow
from services.journal.story import outcome, story
from services.journal.subject import read_subject
from shared.protocol.envelope import Event
from shared.protocol.events import ApprovalGiven, MarketObserved
from tests.unit.ledger.protected import SELL, Protected

K1 = "20221003T1030-eq-k1"


def written(event: Event) -> Change:
    (row,) = changes(event)
    return row


def test_a_caused_run_has_a_row_from_its_observation_on_and_ends_when_it_is_settled() -> None:
    scribe = Protected()
    scribe.tripped()
    scribe.sold(1, ("AAA", SELL, "10", "99"))
    begun = next(event for event in scribe.events if event.type == "MarketObserved")
    row = written(begun)
    assert isinstance(row, RunRow)
    assert (row.id, row.book, row.source, row.session, row.stage) == (K1, "eq", "desk", "2022-10-03", "started")
    scribe.settled(K1)
    end = written(scribe.events[-1])
    assert isinstance(end, RunChange)
    assert (end.stage, end.status) == ("ended", "liquidation")


def test_an_observation_of_a_run_that_an_agent_began_has_no_row() -> None:
    scribe = Protected()
    run = scribe.start_run("eq")
    assert changes(scribe.write("executor", MarketObserved("run", (), {}, {}, {}), run, book="eq", run=run)) == []


def told(scribe: Protected, name: str) -> tuple[str, list[str]]:
    gatherer = Gatherer(read_subject(name))
    for event in scribe.events:
        gatherer.take(event)
    found = gatherer.result(len(scribe.events))
    return outcome(found), story(found)


def test_the_story_of_a_liquidation_begins_with_the_halt_that_caused_it() -> None:
    scribe = Protected()
    halt = scribe.tripped()
    run = K1
    seen = MarketObserved("liquidation", (), {}, {}, {}, {})
    scribe.write("executor", seen, run, book="eq", run=run, cause=halt.id)
    scribe.approve(run, ("AAA", SELL, "10", "99"), kind="liquidation")
    assert told(scribe, run)[0] == "not ended yet"
    scribe.settled(run)
    end, lines = told(scribe, run)
    text = "\n".join(lines)
    assert end == "settled"
    assert "kill_switch trips, full halt of eq, and what is held is to be sold: it fell" in text
    assert "verdict on the liquidation: 1 approved, 0 not" in text


def test_the_story_of_an_order_that_needed_approval_says_who_approved_it() -> None:
    scribe = Protected()
    run = scribe.start_run("eq")
    scribe.approve(run, ("AAA", SELL, "10", "99"))
    scribe.write("desk", ApprovalGiven(f"{run}-1", "fine"), "r1")
    text = "\n".join(told(scribe, f"{run}-1")[1])
    assert f'an operator approves {run}-1, which is judged afresh: "fine"' in text
