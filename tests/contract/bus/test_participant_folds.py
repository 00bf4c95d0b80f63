"""How a participant folds the log, over JetStream and in memory."""

import asyncio
import hashlib

import pytest

from shared.bus.participant import Participant
from shared.bus.ports import Append, Fenced, LogBroken
from shared.protocol.envelope import Draft
from tests.contract.bus.buses import Bus
from tests.contract.bus.people import Ids, Join, done, ended, envelope, halt, hashed, sealed

BOUND_S = 20.0


async def test_every_participant_folds_all_events_in_the_order_of_the_log(bus: Bus, started: Join) -> None:
    gate, desk = await started("gate"), await started("desk")
    await done(gate, hashed(1))
    await done(desk, halt("r1"))
    await done(gate, hashed(2))
    late = await started("executor")
    for participant in (gate, desk, late):
        await participant.catch_up()
        assert participant.state == ("gate:StateHashed:s1", "desk:HaltOrdered:r1", "gate:StateHashed:s2")
        assert participant.cursor == 3


async def test_an_appended_event_is_folded_when_append_returns(started: Join) -> None:
    gate = await started("gate")
    event = await done(gate, hashed(1))
    assert (event.seq, event.id, event.envelope.by.instance) == (1, "gate:StateHashed:s1", "1-a")
    assert (gate.state, gate.cursor) == (("gate:StateHashed:s1",), 1)


async def test_an_event_appended_behind_unseen_ones_is_folded_after_them(started: Join) -> None:
    gate, desk = await started("gate"), await started("desk")
    await done(desk, halt("r1"))
    await done(desk, halt("r2"))
    await done(gate, hashed(1))
    assert gate.state == ("desk:HaltOrdered:r1", "desk:HaltOrdered:r2", "gate:StateHashed:s1")


async def test_events_are_counted_and_linked_per_author(bus: Bus, started: Join) -> None:
    gate, desk = await started("gate"), await started("desk")
    await done(gate, hashed(1))
    await done(desk, halt("r1"))
    await done(gate, hashed(2))
    first, second = await gate.log.get(1), await gate.log.get(3)
    assert first is not None
    assert [(envelope(stored).n, envelope(stored).prev) for stored in (first, second)] == [
        (1, None),
        (2, hashlib.sha256(first.payload).hexdigest()),
    ]


async def test_an_agents_events_are_counted_and_linked_per_book(started: Join) -> None:
    agent = await started("agent")
    for book, run in (("alpha", "r1"), ("beta", "r2"), ("alpha", "r3")):
        await done(agent, ended(book, run))
    stored = [await agent.log.get(seq) for seq in (1, 2, 3)]
    assert [envelope(one).n for one in stored] == [1, 1, 2]
    assert stored[0] is not None
    assert [envelope(one).prev for one in stored] == [None, None, hashlib.sha256(stored[0].payload).hexdigest()]


async def test_a_foreign_writer_under_the_own_prefix_is_found_while_only_folding(started: Join) -> None:
    old, new = await started("gate", "1-old"), await started("gate", "2-new")
    await done(new, hashed(1))
    with pytest.raises(Fenced):
        async with asyncio.timeout(BOUND_S):
            await old.advance()


async def test_what_an_earlier_process_wrote_is_history_and_the_counter_goes_on(started: Join) -> None:
    await done(await started("gate", "1-old"), hashed(1))
    new = await started("gate", "2-new")
    await done(new, hashed(2))
    assert envelope(await new.log.get(2)).n == 2
    assert new.state == ("gate:StateHashed:s1", "gate:StateHashed:s2")


async def test_a_repeated_event_is_dropped_and_moves_only_the_fence(started: Join) -> None:
    gate = await started("gate")
    await done(gate, hashed(1))
    copy = await gate.log.get(1)
    assert copy is not None
    await gate.log.append(Append(copy.subject, "copy", copy.payload, "ev.gate.>", 1))
    await gate.catch_up()
    await done(gate, hashed(2))
    assert gate.state == ("gate:StateHashed:s1", "gate:StateHashed:s2")
    assert envelope(await gate.log.get(3)).n == 2


@pytest.mark.parametrize(
    ("subject", "payload"),
    [
        ("ev.gate._desk.StateHashed", b"no JSON"),
        ("ev.gate.alpha.StateHashed", sealed(hashed(1), n=1, prev=None, instance="1-a")),
        ("ev.gate._desk.Verdict", sealed(hashed(1), n=1, prev=None, instance="1-a")),
        ("ev.gate._desk.HaltOrdered", sealed(halt("r1"), n=1, prev=None, instance="1-a")),
        ("ev.gate._desk.StateHashed", sealed(hashed(1), n=1, prev=None).replace(b'"session":"2022', b'"sessiom":"2022')),
    ],
    ids=["no JSON", "another book", "another type", "another author's type", "data that do not fit"],
)
async def test_a_message_that_is_no_fact_is_dropped_and_moves_only_the_fence(started: Join, subject: str, payload: bytes) -> None:
    gate, executor = await started("gate"), await started("executor")
    payload = payload.replace(b'"instance":"other"', b'"instance":"1-a"')
    await gate.log.append(Append(subject, "forged", payload, "ev.gate.>", 0))
    await gate.catch_up()
    await done(gate, hashed(1))
    await executor.catch_up()
    assert gate.state == executor.state == ("gate:StateHashed:s1",)
    assert (envelope(await gate.log.get(2)).n, gate.cursor, executor.cursor) == (1, 2, 2)


async def test_a_gap_in_a_writers_counter_breaks_the_log(started: Join) -> None:
    gate, executor = await started("gate"), await started("executor")
    await done(gate, hashed(1))
    message = Append("ev.gate._desk.StateHashed", "x", sealed(hashed(3), n=3, prev="0"), "ev.gate.>", 1)
    await gate.log.append(message)
    with pytest.raises(LogBroken, match=r"s3 is number 3 under ev\.gate\.>, expected 2"):
        await executor.catch_up()


async def test_a_link_to_another_predecessor_breaks_the_log(started: Join) -> None:
    gate, executor = await started("gate"), await started("executor")
    await done(gate, hashed(1))
    message = Append("ev.gate._desk.StateHashed", "x", sealed(hashed(2), n=2, prev="f00"), "ev.gate.>", 1)
    await gate.log.append(message)
    with pytest.raises(LogBroken, match="sequence 2: gate:StateHashed:s2 follows f00"):
        await executor.catch_up()


async def test_writers_that_append_side_by_side_fold_the_same_sequence(started: Join) -> None:
    gate, desk, agent = await started("gate"), await started("desk"), await started("agent")

    async def work(participant: Participant[Ids], drafts: list[Draft]) -> None:
        for draft in drafts:
            await done(participant, draft)

    await asyncio.gather(
        work(gate, [hashed(n) for n in range(30)]),
        work(desk, [halt(f"r{n}") for n in range(30)]),
        work(agent, [ended(("alpha", "beta")[n % 2], f"r{n}") for n in range(30)]),
    )
    for participant in (gate, desk, agent):
        await participant.catch_up()
    assert gate.cursor == 90
    assert len(set(gate.state)) == 90
    assert gate.state == desk.state == agent.state


async def test_a_waiting_task_sees_what_another_task_of_its_process_appends(started: Join) -> None:
    desk = await started("desk")
    waiting = asyncio.create_task(desk.advance())
    await asyncio.sleep(0)
    await done(desk, halt("r1"))
    async with asyncio.timeout(BOUND_S):
        assert await waiting is True


async def test_advance_returns_true_for_an_event_and_false_when_woken_or_timed_out(started: Join) -> None:
    desk, gate = await started("desk"), await started("gate")
    assert await desk.advance(timeout_s=0.01) is False
    desk.wake()
    assert await desk.advance() is False
    waiting = asyncio.create_task(desk.advance())
    await asyncio.sleep(0)
    desk.wake()
    assert await waiting is False
    await done(gate, hashed(1))
    async with asyncio.timeout(BOUND_S):
        assert await desk.advance() is True
    assert desk.state == ("gate:StateHashed:s1",)


async def test_only_the_wanted_types_are_applied_but_all_are_checked(bus: Bus, started: Join) -> None:
    gate, desk = await started("gate"), await started("desk")
    log, rpc = await bus.client()
    picky: Participant[Ids] = Participant(
        log,
        rpc,
        author="journal",
        instance="1-j",
        desk="test",
        state=(),
        apply=lambda state, event: (*state, event.type),
        types=frozenset({"HaltOrdered"}),
    )
    await done(gate, hashed(1))
    await done(desk, halt("r1"))
    await picky.start()
    assert (picky.state, picky.cursor) == (("HaltOrdered",), 2)
    await gate.log.append(Append("ev.gate._desk.StateHashed", "x", sealed(hashed(9), n=9, prev=None), "ev.gate.>", 1))
    with pytest.raises(LogBroken):
        await picky.catch_up()
    await picky.close()
