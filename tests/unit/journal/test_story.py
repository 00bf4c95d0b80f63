"""Stories of runs, orders and executions: picked from a recorded log, and told without anything that a terminal would act on."""

import json
from functools import cache
from typing import Any

import pytest

from services.journal.gathering import LOOKBACK, Explanation, Gatherer, Unknown
from services.journal.story import document, printable, story
from services.journal.subject import read_subject
from shared.protocol.envelope import Event, read_event
from shared.protocol.events import CancelOrdered, OrderWithheld, ProposalMade, SourceFailed
from shared.protocol.market import ProposedOrder, Side
from shared.protocol.reasons import SourceFault, StopReason, Withheld
from tests.support.recorded import VERSIONS, recorded
from tests.support.scribe import SLOT, Scribe

RUN = "20221003T1030-eq-1"


@cache
def log() -> tuple[Event, ...]:
    """The log of this version."""
    return tuple(read_event(one.seq, one.subject, one.payload) for one in recorded(VERSIONS[-1]))


@cache
def raw() -> tuple[dict[str, Any], ...]:
    """The same as plain JSON."""
    return tuple(json.loads(event.payload) for event in log())


def explained(name: str, events: tuple[Event, ...] | list[Event] | None = None) -> Explanation:
    """What is found on a name."""
    gatherer = Gatherer(read_subject(name))
    found = log() if events is None else events
    for event in found:
        gatherer.take(event)
    return gatherer.result(found[-1].seq)


def ids(name: str) -> list[str]:
    return [event.id for event in explained(name).events]


def of_run(run: str) -> list[str]:
    """Ids of the events of a run in the log's own words."""
    return [event["id"] for event in raw() if event["run"] == run]


RUNS = sorted({event["run"] for event in raw() if event["run"]})
CANCEL = next(event for event in raw() if event["type"] == "CancelOrdered")


def test_a_run_has_every_event_of_it_in_order_the_clock_that_began_it_and_the_cancel_of_its_order() -> None:
    assert len(RUNS) == 12
    for run in RUNS:
        found = ids(run)
        clock = next(event["cause"] for event in raw() if event["id"] == f"agent:RunStarted:{run}")
        cancelled = [CANCEL["id"]] if CANCEL["data"]["order"].startswith(run) else []
        assert sorted(found) == sorted([*of_run(run), clock, *cancelled])
        assert found[0] == clock
    assert CANCEL["id"] in ids(CANCEL["data"]["order"].rpartition("-")[0])


def test_an_order_has_its_own_events_and_of_its_run_only_the_start_the_proposal_the_evidence_and_the_verdict() -> None:
    order = CANCEL["data"]["order"]
    run = order.rpartition("-")[0]
    assert ids(order) == [
        f"agent:RunStarted:{run}",
        f"agent:ProposalMade:{run}",
        f"executor:MarketObserved:{run}:2",
        f"gate:Verdict:{run}",
        f"executor:OrderIntended:{order}",
        f"executor:OrderPlaced:{order}",
        CANCEL["id"],
        f"executor:OrderClosed:{order}",
    ]
    found = explained(order)
    assert document(found)["outcome"] == "cancelled"
    assert found.decision is not None
    assert found.decision.order == order


def test_an_execution_has_its_order_and_is_found_by_dots_underscores_and_event_id() -> None:
    for fill in (event for event in raw() if event["type"] == "FillSettled"):
        execution, order = fill["data"]["execution"], fill["data"]["order"]
        assert "." in execution
        found = ids(execution)
        assert found == ids(execution.replace(".", "_")) == ids(fill["id"])
        assert found == ids(order)
        assert fill["id"] in found
        assert explained(execution).order == order
        assert document(explained(execution))["totals"] == {
            "fills": 1,
            "cash_effect": fill["data"]["cash_effect"],
            "fees": {fill["data"]["fee"]["currency"]: fill["data"]["fee"]["amount"]},
        }


def test_an_event_outside_of_runs_is_told_with_its_cause_and_what_followed_from_it() -> None:
    about = next(event for event in raw() if event["type"] == "ClockAdvanced" and event["data"]["step"] == "close")
    caused = [event["id"] for event in raw() if event["cause"] == about["id"]]
    assert ids(about["id"]) == [about["cause"], about["id"], *caused]
    assert ids(CANCEL["id"]) == [CANCEL["id"]]


def test_every_number_of_every_reason_and_of_every_decision_is_told() -> None:
    told = 0
    for event in (event for event in raw() if event["type"] == "Verdict"):
        lines = story(explained(event["run"]))
        for row in event["data"]["decisions"]:
            head = next(
                line
                for line in lines
                if f" {row['index']}. {row['side']} {row['quantity']} {row['symbol']} " in line and ": " in line
            )
            assert head
            text = "\n".join(lines)
            assert f"notional {row['notional']}, commission {row['commission']}, FX {row['fx']}" in text
            if not row["approved"]:
                assert f"blocked; the largest quantity that would pass is {row['largest']}" in text
            for reason in row["reasons"]:
                numbers = ", ".join(
                    f"{name} {reason[name]}" for name in ("limit", "value", "headroom") if reason[name] is not None
                )
                assert f"{reason['rule']}: {reason['message']}" + (f" ({numbers})" if numbers else "") in text
                told += 1
    assert told >= 4


def test_the_story_of_an_order_leaves_out_the_other_orders_of_its_run() -> None:
    order = CANCEL["data"]["order"]
    run, _, index = order.rpartition("-")
    text = "\n".join(story(explained(order)))
    proposed = next(event for event in raw() if event["id"] == f"agent:ProposalMade:{run}")["data"]["orders"]
    assert len(proposed) > 5
    for place, row in enumerate(proposed, start=1):
        assert (f" {place}. {row['side']} {row['quantity']} {row['symbol']} at" in text) == (place == int(index))
        assert (f"quote of {row['symbol']}: " in text) == (place == int(index))
    assert "ordered" not in text.splitlines()[0]
    assert f'an operator orders {order} to be cancelled: "a drill for the record"' in text


def test_the_document_holds_the_events_word_for_word_and_the_policy_in_force() -> None:
    run = RUNS[0]
    found = json.loads(json.dumps(document(explained(run))))
    assert list(found) == [
        "about", "kind", "run", "order", "execution", "dry", "outcome", "decision", "totals", "policy",
        "signed", "last_seq", "dropped", "events",
    ]  # fmt: skip
    assert (found["about"], found["kind"], found["run"], found["outcome"]) == (run, "run", run, "ok")
    by_id = {event["id"]: (seq, event) for seq, event in enumerate(raw(), start=1)}
    for row in found["events"]:
        seq, event = by_id[row["id"]]
        assert row["seq"] == seq
        assert {name: row[name] for name in ("type", "at", "by", "book", "cause", "data")} == {
            name: event[name] for name in ("type", "at", "by", "book", "cause", "data")
        }
    adopted = by_id["desk:PolicyAdopted:_desk"]
    assert found["policy"] == {"seq": adopted[0], "id": adopted[1]["id"], "policy_hash": adopted[1]["data"]["policy_hash"]}
    assert found["last_seq"] == len(raw())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (RUNS[0].replace("-1", "-2"), RUNS[0]),
        (f"{RUNS[0]}-77", f"{RUNS[0]} has no order 77: the last is {RUNS[0]}-"),
        ("0000000301.01", "00000003_01_01"),
        ("nothing", "a run is like"),
        ("desk:CancelOrdered:never", "knows no event desk:CancelOrdered:never"),
    ],
)
def test_an_unknown_name_is_refused_with_what_is_nearest(name: str, said: str) -> None:
    with pytest.raises(Unknown) as caught:
        explained(name)
    assert said in str(caught.value)


def evil(scribe: Scribe) -> Scribe:
    """A run whose every foreign text is an attack on the terminal."""
    text = "\x1b]0;owned\x07\x1b[2J \u202eevil\u2066 \x9b31m line\r\nnext\u2028end\ttab"
    scribe.open_desk("eq").clock("slot", SLOT, ("eq",))
    scribe.start_run("eq")
    order = ProposedOrder("A\x1b[31m", "U\x07", "B\u202e", "1\x1b", "2\x9b", text, "S\x1bM", "0.5\x1b")
    scribe.write("agent", ProposalMade("scripted\x1b", (order,), text, StopReason.SUBMITTED), RUN, book="eq", run=RUN)
    (approved,) = scribe.approve(RUN, ("AAA", Side.BUY, "1", "1"))
    scribe.write("desk", CancelOrdered(approved, text), "r1")
    scribe.write("executor", OrderWithheld(approved, Withheld.CANCELLED, text), approved, book="eq", run=RUN)
    scribe.write("agent", SourceFailed(SourceFault.CRASHED, text), RUN, book="eq", run=RUN)
    return scribe


@pytest.mark.parametrize("name", [RUN, f"{RUN}-1"])
def test_no_character_that_a_terminal_acts_on_or_that_reorders_text_is_told(name: str) -> None:
    found = explained(name, evil(Scribe()).events)
    lines = story(found)
    assert all(line.isprintable() for line in lines)
    text = "\n".join(lines)
    assert "\\x1b]0;owned\\x07" in text
    assert "\\u202eevil" in text
    assert "line\\x0d\\x0anext\\u2028end\\x09tab" in text
    assert json.dumps(document(found)).isascii()


def test_printable_leaves_letters_of_any_language_alone() -> None:
    assert printable("Zürich 東京 naïve — 5 %") == "Zürich 東京 naïve — 5 %"
    assert printable("\U000e0041") == "\\U000e0041"


def test_a_story_that_has_not_ended_says_so() -> None:
    scribe = Scribe().open_desk("eq")
    scribe.clock("slot", SLOT, ("eq",))
    scribe.start_run("eq")
    assert story(explained(RUN, scribe.events))[0] == f"run {RUN}: not ended yet"
    (order,) = scribe.approve(RUN, ("AAA", Side.BUY, "1", "1"))
    assert story(explained(order, scribe.events))[0] == f"order {order}, run {RUN}: approved"


def test_events_that_cannot_be_read_are_shown_as_they_are_stored() -> None:
    scribe = evil(Scribe())
    at = next(number for number, event in enumerate(scribe.events) if event.type == "ProposalMade")
    old = scribe.events[at]
    payload = old.payload.replace(b'"stop_reason":"submitted"', b'"stop_reason":"dreamt"')
    scribe.events[at] = read_event(old.seq, "ev.agent.eq.ProposalMade", payload)
    text = "\n".join(story(explained(RUN, scribe.events)))
    assert "ProposalMade that cannot be read: " in text
    assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize(("between", "told"), [(LOOKBACK - 1, True), (LOOKBACK, False)])
def test_a_cause_further_back_than_is_remembered_is_named_but_not_told(between: int, told: bool) -> None:
    scribe = Scribe()
    others = [scribe.write("desk", CancelOrdered("none", ""), f"r{number}") for number in range(between)]
    start = next(event for event in log() if event.type == "RunStarted")
    clock = next(event for event in log() if event.id == start.envelope.cause)
    found = explained(start.run or "", [clock, *others, start])
    assert (clock in found.events) is told
    assert document(found)["events"][-1]["cause"] == clock.id  # type: ignore[index]
