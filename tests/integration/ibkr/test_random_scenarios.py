"""Fills, cancels, faults and restarts at random: executions = booked fills, ledger = positions, nothing unknown at the end."""

import pytest

from tests.integration.ibkr.play import Play
from tests.support.tws import Desk, serving

STEPS = 25
SEEDS = 200
MANY = 2_000


async def play(folder, seed):
    """One play from its seed; the seed stands in every failure."""
    async with serving(Desk(folder / str(seed))) as desk:
        desk.slot()
        played = Play(desk, seed)
        try:
            for _ in range(STEPS):
                await played.at_random()
            await played.finish()
            played.check()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


@pytest.mark.parametrize("block", range(10))
async def test_after_any_play_the_books_are_the_brokers(tmp_path, block):
    for seed in range(block * SEEDS // 10, (block + 1) * SEEDS // 10):
        await play(tmp_path, seed)


@pytest.mark.long
async def test_after_two_thousand_plays_the_books_are_the_brokers(tmp_path):
    for seed in range(SEEDS, SEEDS + MANY):
        await play(tmp_path, seed)
