"""The gate's shell on a log in memory, with the rest of the desk written by hand."""

import asyncio

from services.gate.service import next_draft
from shared.ledger.hashing import state_hash
from shared.protocol.events import BookValued, HaltOrdered, RunStopped, StateHashed, Verdict
from shared.protocol.reasons import Rule, RunStatus
from tests.integration.gate.rest import GateProcess, Rest
from tests.support.scribe import CLOSE, SESSION, SLOT

PER_BOOK = ("BookValued", "RunCleared", "Verdict")
RUN = "20221003T1030-alpha-1"


async def played(*books: str, kills: tuple[int, ...] = ()) -> Rest:
    """A whole session; a gate is killed once the log holds each of these numbers of its events."""
    rest = Rest(*books)
    gate = GateProcess(rest)
    await rest.open()
    playing = asyncio.ensure_future(rest.session())
    for count in kills:
        await gate.until(lambda count=count: len(rest.events()) >= count, playing)  # type: ignore[misc]
    await gate.until(lambda: False, playing)
    await playing
    await rest.close()
    return rest


def written(rest: Rest) -> list[tuple[str, str, bytes]]:
    """What the gate says, without what differs from run to run."""
    return [(event.id, event.at, bytes(event.envelope.data)) for event in rest.events()]


async def test_a_session_is_valued_cleared_judged_and_hashed() -> None:
    events = (await played("alpha", "beta")).events()

    assert [event.type for event in events] == [*PER_BOOK, *PER_BOOK, "BookValued", "BookValued", "StateHashed"]
    for verdict in (event.expect(Verdict) for event in events if event.type == "Verdict"):
        assert [[why.rule for why in row.reasons] for row in verdict.decisions] == [[], [Rule.WHOLE_SHARES], [Rule.INSTRUMENT]]
    closing = [event.expect(BookValued) for event in events if event.type == "BookValued"][2:]
    # 10000 − 10 × 101 − 1 + 10 × 100
    assert [str(row.value) for row in closing] == ["9989", "9989"]


async def test_every_event_says_what_led_to_it_and_stands_at_desk_time() -> None:
    events = (await played("alpha")).events()

    assert {event.id: event.envelope.cause for event in events} == {
        f"gate:BookValued:{RUN}": f"executor:MarketObserved:{RUN}",
        f"gate:RunCleared:{RUN}": f"gate:BookValued:{RUN}",
        f"gate:Verdict:{RUN}": f"executor:MarketObserved:{RUN}:2",
        "gate:BookValued:alpha-20221003T200000Z": "executor:MarketObserved:_desk-20221003T200000Z",
        f"gate:StateHashed:{SESSION}": "desk:ClockAdvanced:_desk-20221003T200000Z",
    }
    assert [event.at for event in events] == [SLOT, SLOT, SLOT, CLOSE, CLOSE]


async def test_a_gate_killed_after_any_of_its_events_writes_the_same() -> None:
    undisturbed = written(await played("alpha", "beta"))

    for count in range(len(undisturbed)):
        assert written(await played("alpha", "beta", kills=(count,))) == undisturbed
    assert written(await played("alpha", "beta", kills=tuple(range(len(undisturbed))))) == undisturbed


async def test_the_hash_is_that_of_the_folded_state_and_the_executors() -> None:
    rest = await played("alpha")
    reader = await rest.participant("journal", "1-reader")
    ours, theirs = rest.events()[-1], rest.events("executor")[-1]

    assert ours.expect(StateHashed) == theirs.expect(StateHashed) == StateHashed(SESSION, state_hash(reader.state))
    await reader.close()


async def test_nothing_is_decided_while_nothing_is_owed() -> None:
    rest = Rest("alpha")
    await rest.open()
    gate = await rest.participant("gate", "1-gate")

    assert next_draft(gate) is None
    await gate.close()
    await rest.close()


async def test_a_halt_that_comes_after_the_state_was_folded_is_never_missed() -> None:
    rest = Rest("alpha")
    gate = GateProcess(rest)
    await rest.open()
    playing = asyncio.ensure_future(rest.session())
    await gate.until(lambda: len(rest.events()) == 1, playing)
    participant = await rest.participant("gate", "late-gate")
    draft = next_draft(participant)
    assert draft is not None
    assert draft.type == "RunCleared"

    await rest.write("executor", "alpha", "h1", HaltOrdered("alpha", "full", False, "stop"))

    assert await participant.append(draft) is None
    again = next_draft(participant)
    assert again is not None
    assert again.data == RunStopped(RunStatus.HALTED, "full halt: stop")
    playing.cancel()
    await asyncio.gather(playing, return_exceptions=True)
    await participant.close()
    await rest.close()
