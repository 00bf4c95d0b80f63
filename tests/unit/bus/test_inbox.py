"""The batches between the task that reads and the one that folds."""

import asyncio

import pytest

from shared.bus.inbox import MAX_HELD, Inbox
from shared.bus.ports import LogBroken, Stored

BATCH = [Stored(seq, "ev.gate.b1.Verdict", "", b"") for seq in range(1000)]


class Endless:
    """A reading that always has another batch, and counts what was taken."""

    def __init__(self, fails_after: int | None = None) -> None:
        self.taken = 0
        self._fails_after = fails_after

    def __aiter__(self) -> "Endless":
        return self

    async def __anext__(self) -> list[Stored]:
        await asyncio.sleep(0)
        if self.taken == self._fails_after:
            raise LogBroken("sequence 3 is missing")
        self.taken += 1
        return BATCH

    async def aclose(self) -> None:
        return


async def test_filling_stops_while_more_is_held_than_allowed_and_goes_on_when_it_is_taken() -> None:
    inbox, reading = Inbox(), Endless()
    filling = asyncio.create_task(inbox.fill(reading))
    for _ in range(100):
        await asyncio.sleep(0)
    allowed = MAX_HELD // len(BATCH) + 1
    assert reading.taken == allowed
    assert len(list(inbox.take())) == allowed
    for _ in range(100):
        await asyncio.sleep(0)
    assert reading.taken == 2 * allowed
    filling.cancel()


async def test_what_ended_the_reading_is_raised_after_everything_before_it() -> None:
    inbox = Inbox()
    await inbox.fill(Endless(fails_after=2))
    taken = inbox.take()
    assert [next(taken), next(taken)] == [BATCH, BATCH]
    with pytest.raises(LogBroken):
        next(taken)


async def test_a_wait_ends_with_true_when_notified_and_with_false_in_time() -> None:
    inbox = Inbox()
    waiting = asyncio.create_task(inbox.wait(None))
    await asyncio.sleep(0)
    inbox.notify()
    assert await waiting is True
    assert await inbox.wait(0.001) is False
