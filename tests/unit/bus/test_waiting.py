"""Those who wait for a change."""

import asyncio

from shared.bus.waiting import Waiters


async def test_a_wait_ends_with_true_when_notified_and_with_false_in_time() -> None:
    waiters = Waiters()
    waiting = [asyncio.create_task(waiters.wait()) for _ in range(2)]
    await asyncio.sleep(0)
    waiters.notify()
    assert await asyncio.gather(*waiting) == [True, True]
    assert await waiters.wait(0.001) is False


async def test_a_cancelled_wait_is_forgotten() -> None:
    waiters = Waiters()
    waiting = asyncio.create_task(waiters.wait())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    waiters.notify()
    assert waiting.cancelled()
