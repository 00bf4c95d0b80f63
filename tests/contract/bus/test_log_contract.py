"""What every `Log` promises, on both implementations."""

import asyncio

import pytest

from shared.bus.ports import Append, Conflict, IdReused, Log, Stored
from tests.contract.bus.buses import Bus

BOUND_S = 20.0


def message(
    identity: str, *, author: str = "gate", fence_seq: int = 0, last_seq: int | None = None, payload: bytes = b"{}"
) -> Append:
    return Append(f"ev.{author}.b1.Verdict", identity, payload, f"ev.{author}.>", fence_seq, last_seq)


async def read(log: Log, after: int, count: int) -> list[Stored]:
    """The next `count` messages behind `after`."""
    found: list[Stored] = []
    reading = log.read(after)
    async with asyncio.timeout(BOUND_S):
        async for batch in reading:
            found += batch
            if len(found) >= count:
                break
    await reading.aclose()
    return found


async def test_appended_messages_get_the_sequences_1_2_3(bus: Bus) -> None:
    log, _ = await bus.client()
    first = await log.append(message("a"))
    second = await log.append(message("b", fence_seq=1))
    third = await log.append(message("c", author="executor"))
    assert (first, second, third) == (1, 2, 3)


async def test_an_append_that_expects_an_older_message_under_its_fence_is_refused_naming_the_newest(bus: Bus) -> None:
    log, _ = await bus.client()
    await log.append(message("a"))
    await log.append(message("b", fence_seq=1))
    with pytest.raises(Conflict) as refusal:
        await log.append(message("c", fence_seq=1))
    assert refusal.value.last_seq == 2
    assert await log.last_seq() == 2


async def test_messages_of_other_writers_do_not_move_the_fence(bus: Bus) -> None:
    log, _ = await bus.client()
    await log.append(message("a"))
    await log.append(message("x", author="executor"))
    assert await log.append(message("b", fence_seq=1)) == 3


async def test_a_fence_over_one_book_is_not_moved_by_another_book(bus: Bus) -> None:
    log, _ = await bus.client()
    await log.append(Append("ev.agent.alpha.RunStarted", "a", b"{}", "ev.agent.alpha.>", 0))
    await log.append(Append("ev.agent.alpha2.RunStarted", "b", b"{}", "ev.agent.alpha2.>", 0))
    assert await log.append(Append("ev.agent.alpha.RunEnded", "c", b"{}", "ev.agent.alpha.>", 1)) == 3


async def test_a_fence_ahead_of_the_log_is_refused(bus: Bus) -> None:
    log, _ = await bus.client()
    with pytest.raises(Conflict) as refusal:
        await log.append(message("a", fence_seq=7))
    assert refusal.value.last_seq == 0


async def test_an_append_on_an_older_state_of_the_whole_log_is_refused_naming_its_last_sequence(bus: Bus) -> None:
    log, _ = await bus.client()
    await log.append(message("a"))
    await log.append(message("x", author="executor"))
    with pytest.raises(Conflict) as refusal:
        await log.append(message("b", fence_seq=1, last_seq=1))
    assert refusal.value.last_seq == 2


async def test_an_append_on_the_present_state_of_the_whole_log_is_stored(bus: Bus) -> None:
    log, _ = await bus.client()
    await log.append(message("a", last_seq=0))
    await log.append(message("x", author="executor", last_seq=1))
    assert await log.append(message("b", fence_seq=1, last_seq=2)) == 3


async def test_the_same_message_again_is_the_old_sequence_although_its_own_first_copy_moved_the_fence(bus: Bus) -> None:
    log, _ = await bus.client()
    await log.append(message("a"))
    assert await log.append(message("b", fence_seq=1, last_seq=1, payload=b'{"n":2}')) == 2
    await log.append(message("x", author="executor"))
    assert await log.append(message("b", fence_seq=1, last_seq=1, payload=b'{"n":2}')) == 2
    assert await log.last_seq() == 3


async def test_the_same_message_with_the_present_fence_is_the_old_sequence(bus: Bus) -> None:
    log, _ = await bus.client()
    await log.append(message("a"))
    assert await log.append(message("a", fence_seq=1)) == 1
    assert await log.last_seq() == 1


async def test_a_known_id_with_another_payload_is_never_success(bus: Bus) -> None:
    log, _ = await bus.client()
    await log.append(message("a", payload=b'{"n":1}'))
    with pytest.raises(IdReused):
        await log.append(message("a", fence_seq=1, payload=b'{"n":2}'))
    with pytest.raises(Conflict):
        await log.append(message("a", fence_seq=0, payload=b'{"n":2}'))
    assert await log.last_seq() == 1


async def test_of_fifty_writers_that_expect_the_same_state_one_wins(bus: Bus) -> None:
    clients = [await bus.client() for _ in range(5)]
    outcomes = await asyncio.gather(
        *(clients[number % 5][0].append(message(f"id{number}", payload=b"%d" % number)) for number in range(50)),
        return_exceptions=True,
    )
    assert outcomes.count(1) == 1
    refusals = [outcome for outcome in outcomes if isinstance(outcome, Conflict)]
    assert len(refusals) == 49
    assert {refusal.last_seq for refusal in refusals} == {1}
    assert await clients[0][0].last_seq() == 1


async def test_reading_begins_behind_the_cursor_and_gives_what_was_stored(bus: Bus) -> None:
    log, _ = await bus.client()
    for number in range(1, 6):
        await log.append(message(f"id{number}", fence_seq=number - 1, payload=b"%d" % number))
    assert await read(log, 2, 3) == [Stored(n, "ev.gate.b1.Verdict", f"id{n}", b"%d" % n) for n in (3, 4, 5)]


async def test_a_reader_at_the_end_gets_what_another_process_appends(bus: Bus) -> None:
    writer, _ = await bus.client()
    other, _ = await bus.client()
    await writer.append(message("a"))
    waiting = asyncio.create_task(read(other, 1, 3))
    for number in (1, 2, 3):
        await writer.append(message(f"id{number}", fence_seq=number))
    assert [stored.seq for stored in await waiting] == [2, 3, 4]


async def test_cancelling_a_wait_for_the_next_batch_loses_nothing(bus: Bus) -> None:
    log, _ = await bus.client()
    reading = log.read(0)
    found: list[Stored] = []
    for number in range(10):
        waiting = asyncio.ensure_future(anext(reading))
        await asyncio.sleep(0)
        waiting.cancel()
        found += await given_before_the_cancellation(waiting)
        await log.append(message(f"id{number}", fence_seq=number))
    async with asyncio.timeout(BOUND_S):
        while len(found) < 10:
            found += await anext(reading)
    await reading.aclose()
    assert [stored.seq for stored in found] == list(range(1, 11))


async def given_before_the_cancellation(waiting: asyncio.Future[list[Stored]]) -> list[Stored]:
    await asyncio.wait({waiting})
    return [] if waiting.cancelled() else waiting.result()


async def test_a_closed_reading_ends_its_waiting_reader(bus: Bus) -> None:
    log, _ = await bus.client()
    await log.append(message("a"))
    reading = log.read(0)
    assert [stored.seq for stored in await anext(reading)] == [1]
    waiting = asyncio.ensure_future(anext(reading, None))
    await asyncio.sleep(0)
    await reading.aclose()
    async with asyncio.timeout(BOUND_S):
        assert await waiting is None


async def test_a_message_is_found_by_its_sequence_and_an_absent_one_is_none(bus: Bus) -> None:
    log, _ = await bus.client()
    await log.append(message("a", payload="ä".encode()))
    assert await log.get(1) == Stored(1, "ev.gate.b1.Verdict", "a", "ä".encode())
    assert await log.get(2) is None


async def test_the_last_message_under_a_filter_is_found(bus: Bus) -> None:
    log, _ = await bus.client()
    await log.append(message("a"))
    await log.append(message("b", fence_seq=1))
    await log.append(message("x", author="executor"))
    last = await log.last_under("ev.gate.>")
    assert last is not None
    assert (last.seq, last.msg_id) == (2, "b")
    assert await log.last_under("ev.desk.>") is None


async def test_the_state_of_an_empty_and_of_a_filled_log_is_told(bus: Bus) -> None:
    log, _ = await bus.client()
    empty = await log.info()
    assert (empty.last_seq, empty.deleted) == (0, 0)
    await log.append(message("a"))
    filled = await log.info()
    assert (filled.first_seq, filled.last_seq, filled.deleted) == (1, 1, 0)
    assert filled.created == empty.created
