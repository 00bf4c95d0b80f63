"""How a participant appends to the log, over JetStream and in memory."""

import asyncio

import pytest

from shared.bus.participant import MAX_ROUNDS
from shared.bus.ports import Append, BusError, Conflict, Fenced, IdReused, Log, LogInfo, Reading, Stopping, Stored
from tests.contract.bus.buses import Bus
from tests.contract.bus.people import AT, Join, deposit, done, halt, hashed, intended


async def test_a_decision_on_an_older_state_is_not_appended_but_what_moved_the_log_is_folded(started: Join) -> None:
    desk, gate = await started("desk"), await started("gate")
    await done(gate, hashed(1))
    assert await desk.append(deposit("alpha", as_of=0)) is None
    assert desk.state[-1] == "gate:StateHashed:s1"
    await done(desk, deposit("alpha", as_of=desk.cursor))
    assert desk.state[-1] == "desk:CashDeposited:alpha"


async def test_an_intent_decided_on_a_state_before_a_halt_is_refused(started: Join) -> None:
    executor, desk = await started("executor"), await started("desk")
    decided_on = executor.cursor
    await done(desk, halt("stop"))
    assert await executor.append(intended("20221003T1030-alpha-1-1", as_of=decided_on)) is None
    assert executor.state == ("desk:HaltOrdered:stop",)
    assert await executor.log.last_under("ev.executor.>") is None


async def test_a_process_that_has_not_folded_its_authors_newest_event_cannot_append(started: Join) -> None:
    old, new = await started("gate", "1-old"), await started("gate", "2-new")
    await done(new, hashed(1))
    with pytest.raises(Fenced, match="2-new wrote gate:StateHashed:s1 at sequence 1"):
        await old.append(hashed(2))
    assert await old.log.last_seq() == 1


async def test_two_processes_with_the_same_event_do_not_both_succeed(started: Join) -> None:
    first, second = await started("executor", "1-a"), await started("executor", "2-b")
    draft = intended("20221003T1030-alpha-1-1", as_of=0)
    outcomes = await asyncio.gather(first.append(draft), second.append(draft), return_exceptions=True)
    kinds = sorted(type(outcome).__name__ for outcome in outcomes)
    assert kinds == ["Event", "Fenced"]
    assert await first.log.last_seq() == 1


async def test_a_fact_already_written_gives_the_stored_event(started: Join) -> None:
    gate = await started("gate")
    written = await done(gate, hashed(1))
    await done(gate, hashed(2))
    again = await done(gate, hashed(1, as_of=2))
    assert (again.seq, again.payload) == (written.seq, written.payload)
    assert await gate.log.last_seq() == 2


async def test_a_fact_written_by_an_earlier_process_gives_the_stored_event(started: Join) -> None:
    written = await done(await started("gate", "1-old"), hashed(1))
    again = await done(await started("gate", "2-new"), hashed(1))
    assert (again.seq, again.envelope.by.instance) == (written.seq, "1-old")


async def test_another_fact_under_a_known_id_is_an_error(started: Join) -> None:
    gate = await started("gate")
    await done(gate, hashed(1))
    with pytest.raises(IdReused, match="gate:StateHashed:s1 stands at sequence 1 with other data"):
        await gate.append(hashed(1, state_hash="1"))
    assert await gate.log.last_seq() == 1


class RefusesAfterStoring:
    """A log whose first acknowledgement is lost and whose repetition is refused, as when others wrote in between."""

    def __init__(self, log: Log) -> None:
        self._log = log

    async def append(self, message: Append) -> int:
        seq = await self._log.append(message)
        raise Conflict(seq, f"wrong last sequence: {seq}")

    def read(self, after: int) -> Reading:
        return self._log.read(after)

    async def last_seq(self) -> int:
        return await self._log.last_seq()

    async def get(self, seq: int) -> Stored | None:
        return await self._log.get(seq)

    async def last_under(self, filter_subject: str) -> Stored | None:
        return await self._log.last_under(filter_subject)

    async def info(self) -> LogInfo:
        return await self._log.info()


async def test_the_own_event_behind_a_refusal_is_success(bus: Bus, started: Join) -> None:
    log, _ = await bus.client()
    gate = await started("gate", "1-a", RefusesAfterStoring(log))
    event = await done(gate, hashed(1))
    assert (event.seq, event.envelope.by.instance) == (1, "1-a")
    assert gate.state == ("gate:StateHashed:s1",)


async def test_appends_of_several_tasks_of_one_process_are_stored_one_after_another(started: Join) -> None:
    gate = await started("gate")
    events = await asyncio.gather(*(done(gate, hashed(number)) for number in range(20)))
    assert sorted(event.envelope.n for event in events) == list(range(1, 21))
    assert [event.envelope.n for event in sorted(events, key=lambda event: event.seq)] == list(range(1, 21))


async def test_after_too_many_refusals_in_a_row_the_process_gives_up(started: Join) -> None:
    desk, gate = await started("desk"), await started("gate")
    await done(gate, hashed(1))
    for _ in range(MAX_ROUNDS - 1):
        assert await desk.append(deposit("alpha", as_of=0)) is None
    with pytest.raises(BusError, match="refused 100 appends in a row"):
        await desk.append(deposit("alpha", as_of=0))


async def test_an_append_that_succeeds_ends_the_row_of_refusals(started: Join) -> None:
    desk, gate = await started("desk"), await started("gate")
    await done(gate, hashed(1))
    for number in range(2):
        for _ in range(MAX_ROUNDS - 1):
            assert await desk.append(deposit("alpha", as_of=0)) is None
        await done(desk, halt(f"r{number}"))


async def test_a_stopped_process_appends_nothing_and_waits_for_nothing(started: Join) -> None:
    desk = await started("desk")
    waiting = asyncio.create_task(desk.advance())
    await asyncio.sleep(0)
    desk.stop()
    assert await waiting is False
    assert await desk.advance() is False
    with pytest.raises(Stopping):
        await desk.append(halt("r1"))
    assert await desk.log.last_seq() == 0


async def test_a_draft_of_another_author_is_a_bug(started: Join) -> None:
    gate = await started("gate")
    with pytest.raises(ValueError, match="gate cannot append desk:HaltOrdered:r1"):
        await gate.append(halt("r1"))


async def test_the_envelope_names_the_instance_and_the_state_decided_on(started: Join) -> None:
    gate = await started("gate", "77-abc")
    await done(gate, hashed(1))
    event = await done(gate, hashed(2, as_of=1))
    assert (event.envelope.by.service, event.envelope.by.instance, event.envelope.as_of) == ("gate", "77-abc", 1)
    assert event.at == AT
