"""A log that is shorter than what was folded."""

import pytest

from shared.bus.memory import MemoryLog, MemoryRpc
from shared.bus.participant import Participant
from shared.bus.ports import LogBroken
from shared.protocol.envelope import Draft
from shared.protocol.events import StateHashed

AT = "2022-10-03T14:30:00.000000Z"


def hashed(number: int) -> Draft:
    return Draft("gate", "_desk", f"s{number}", AT, 0, StateHashed("2022-10-03", ""))


async def shortened() -> tuple[MemoryLog, Participant[int]]:
    """A participant that folded three events of a log that then lost two."""
    log = MemoryLog()
    gate: Participant[int] = Participant(
        log, MemoryRpc(), author="gate", instance="1-a", desk="test", state=0, apply=lambda state, _event: state + 1
    )
    await gate.start()
    for number in (1, 2, 3):
        await gate.append(hashed(number))
    log.truncate(1)
    return log, gate


async def test_catching_up_with_it_breaks_naming_the_lost_sequences() -> None:
    _, gate = await shortened()
    with pytest.raises(LogBroken, match="sequences 2 to 3 are lost"):
        await gate.catch_up()
    await gate.close()


async def test_appending_to_it_breaks_and_stores_nothing() -> None:
    log, gate = await shortened()
    with pytest.raises(LogBroken, match="sequences 2 to 3 are lost"):
        await gate.append(hashed(4))
    assert await log.last_seq() == 1
    await gate.close()
