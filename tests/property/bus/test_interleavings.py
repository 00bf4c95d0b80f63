"""Whatever order two writers and a reader take their steps in, every counter in the log is contiguous."""

import asyncio
import hashlib

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from shared.bus.memory import MemoryLog, MemoryRpc
from shared.bus.participant import Participant
from shared.protocol.envelope import Draft, Envelope, Event
from shared.protocol.events import CashDeposited, HaltOrdered, RunEnded, StateHashed
from shared.protocol.money import Exact
from shared.protocol.reasons import RunStatus

AT = "2022-10-03T14:30:00.000000Z"
MAX_STEPS = 40
ACTORS = ("desk", "gate", "agent", "journal")
Ids = tuple[str, ...]


def draft(author: str, number: int, as_of: int) -> Draft:
    """What an author appends as its `number`-th fact; every third one of the desk depends on state."""
    match author:
        case "agent":
            book = ("alpha", "beta")[number % 2]
            return Draft("agent", book, f"r{number}", AT, as_of, RunEnded(RunStatus.OK, ""))
        case "desk" if number % 3 == 0:
            return Draft("desk", "alpha", f"d{number}", AT, as_of, CashDeposited(Exact("1"), ""))
        case "desk":
            return Draft("desk", "_desk", f"h{number}", AT, as_of, HaltOrdered("_desk", "full", False, ""))
        case _:
            return Draft("gate", "_desk", f"s{number}", AT, as_of, StateHashed("2022-10-03", ""))


class Actor:
    """A participant that takes one step at a time: writers append (again, if the log moved), the journal only folds."""

    def __init__(self, log: MemoryLog, author: str) -> None:
        self.author = author
        self.written = 0
        self.participant: Participant[Ids] = Participant(
            log,
            MemoryRpc(),
            author=author,
            instance=f"1-{author}",
            desk="test",
            state=(),
            apply=lambda state, event: (*state, event.id),
        )

    async def step(self) -> None:
        if self.author == "journal":
            await self.participant.advance(timeout_s=0.0)
            return
        event: Event | None = await self.participant.append(draft(self.author, self.written, self.participant.cursor))
        if event is not None:
            self.written += 1


@given(st.lists(st.sets(st.sampled_from(ACTORS), min_size=1), max_size=MAX_STEPS))
def test_any_interleaving_keeps_counters_links_and_folds(steps: list[set[str]]) -> None:
    asyncio.run(_run(steps))


async def _run(steps: list[set[str]]) -> None:
    log = MemoryLog()
    actors = {author: Actor(log, author) for author in ACTORS}
    for actor in actors.values():
        await actor.participant.start()
    for together in steps:
        await asyncio.gather(*(actors[author].step() for author in sorted(together)))
    for actor in actors.values():
        await actor.participant.catch_up()
        assert actor.participant.state == tuple(stored.msg_id for stored in log.stored)
        await actor.participant.close()
    assert len(log.stored) == sum(actor.written for actor in actors.values())
    for prefix in ("ev.desk.", "ev.gate.", "ev.agent.alpha.", "ev.agent.beta."):
        _check_chain([stored.payload for stored in log.stored if stored.subject.startswith(prefix)])


def _check_chain(payloads: list[bytes]) -> None:
    envelopes = [msgspec.json.decode(payload, type=Envelope) for payload in payloads]
    assert [envelope.n for envelope in envelopes] == list(range(1, len(payloads) + 1))
    assert [envelope.prev for envelope in envelopes[1:]] == [hashlib.sha256(payload).hexdigest() for payload in payloads[:-1]]
