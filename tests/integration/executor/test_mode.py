"""This executor trades at the simulator only."""

from pathlib import Path

import pytest

from services.executor.service import Executor, WrongMode
from services.executor.simulated.adapter import SimulatedBroker
from shared.bus.memory import MemoryLog, MemoryRpc
from shared.bus.participant import Participant
from shared.ledger.fold import apply
from shared.ledger.state import State
from shared.protocol.envelope import Draft
from shared.protocol.events import ClockAdvanced
from shared.protocol.ids import DESK_BOOK
from tests.integration.executor.rest import DAYS, OPEN


async def participant(log: MemoryLog, author: str) -> Participant[State]:
    made = Participant(log, MemoryRpc(), author=author, instance=f"1-{author}", desk="test", state=State(), apply=apply)
    await made.start()
    return made


async def at_mode(mode: str) -> Participant[State]:
    """An executor's part in a log whose clock is of `mode`."""
    log = MemoryLog()
    desk = await participant(log, "desk")
    await desk.append(Draft("desk", DESK_BOOK, "x", OPEN, 0, ClockAdvanced(OPEN, "open", DAYS[0]), mode=mode))
    await desk.close()
    return await participant(log, "executor")


@pytest.mark.parametrize("mode", ["paper", "live"])
async def test_a_log_of_another_mode_is_refused(tmp_path: Path, mode: str):
    own = await at_mode(mode)
    with pytest.raises(WrongMode, match=mode):
        await Executor(own, SimulatedBroker(tmp_path / "port")).run(lambda: False)
    await own.close()


async def test_a_dry_clock_moves_nothing(tmp_path: Path):
    own = await at_mode("dry")
    looks = iter([False, True])
    own.wake()
    await Executor(own, SimulatedBroker(tmp_path / "port")).run(lambda: next(looks))
    assert own.cursor == 1
    await own.close()
