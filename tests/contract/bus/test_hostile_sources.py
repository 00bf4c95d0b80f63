"""What a source can sign and store under its own prefix harms itself alone, over JetStream and in memory."""

import pytest

from shared.bus.participant import Participant
from shared.bus.ports import Append, LogBroken
from shared.protocol.envelope import Draft, sha256_hex
from shared.protocol.events import RunEnded
from shared.protocol.reasons import RunStatus
from tests.contract.bus.people import AT, Ids, Join, deposit, done, ended, hashed, sealed

DEEP = b'{"data":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
FOREIGN = Draft("agent", "alpha", "20221003T1030-beta-1", AT, 0, RunEnded(RunStatus.OK, ""), run="20221003T1030-beta-1")


def place(n: int, prev: str | None, *, as_of: int = 0, draft: Draft | None = None) -> bytes:
    """An event of the source of alpha at a place of its chain, by whoever holds its key."""
    draft = draft or ended("alpha", "2")
    draft = Draft(draft.author, draft.book, draft.about, draft.at, as_of, draft.data, draft.run)
    return sealed(draft, n=n, prev=prev, instance="thief")


async def put(through: Participant[Ids], payload: bytes, identity: str, fence_seq: int, fence: str = "ev.agent.alpha.>") -> int:
    subject = fence.replace(">", "StateHashed" if "gate" in fence else "RunEnded").replace("gate.", "gate._desk.")
    return await through.log.append(Append(subject, identity, payload, fence, fence_seq))


@pytest.mark.parametrize("wrong", ["a later number", "another link", "no link", "decided later", "another book's run", "nested"])
async def test_a_sources_event_in_no_place_of_its_chain_is_dropped_by_all_and_its_next_one_counts(
    started: Join, wrong: str
) -> None:
    agent, gate, executor = await started("agent"), await started("gate"), await started("executor")
    first = await done(agent, ended("alpha", "1"))
    payload = {
        "a later number": place(3, first.sha256),
        "another link": place(2, "f" * 64),
        "no link": place(2, None),
        "decided later": place(2, first.sha256, as_of=2),
        "another book's run": place(2, first.sha256, draft=FOREIGN),
        "nested": DEEP,
    }[wrong]
    await put(gate, payload, "hostile", first.seq)
    await done(gate, hashed(1, as_of=2))
    await agent.catch_up()
    await done(agent, ended("alpha", "3"))
    await done(agent, ended("beta", "1"))
    for participant in (agent, gate, executor):
        await participant.catch_up()
        assert participant.state == (
            "agent:RunEnded:20221003T1030-alpha-1",
            "gate:StateHashed:s1",
            "agent:RunEnded:20221003T1030-alpha-3",
            "agent:RunEnded:20221003T1030-beta-1",
        )


async def test_an_id_that_a_source_has_used_before_does_not_keep_its_author_from_writing(started: Join) -> None:
    agent, gate = await started("agent"), await started("gate")
    await put(agent, b"{}", "gate:StateHashed:s1", 0)
    event = await done(gate, hashed(1))
    assert (event.seq, event.id) == (2, "gate:StateHashed:s1")
    again = await done(gate, hashed(1))
    assert again.seq == 2
    newer = await started("gate", "2-b")
    assert (await done(newer, hashed(1))).seq == 2
    await done(newer, hashed(2, as_of=2))
    await agent.catch_up()
    assert agent.state == newer.state == ("gate:StateHashed:s1", "gate:StateHashed:s2")


async def test_an_event_of_ones_own_that_nobody_counted_does_not_keep_one_from_writing_it_rightly(started: Join) -> None:
    gate, executor = await started("gate"), await started("executor")
    await put(executor, b"{}", "gate:StateHashed:s1", 0, "ev.gate.>")
    await gate.catch_up()
    assert (await done(gate, hashed(1))).seq == 2


async def test_a_dropped_message_at_the_end_of_the_log_keeps_nobody_from_a_fact_that_depends_on_state(started: Join) -> None:
    desk, gate = await started("desk"), await started("gate")
    decided_on = (await done(gate, hashed(1))).seq
    await put(gate, b"{}", "hostile", 0)
    await desk.catch_up()
    event = await done(desk, deposit("alpha", as_of=decided_on))
    assert (event.seq, event.envelope.as_of) == (3, 2)
    await done(gate, hashed(2, as_of=3))
    assert await desk.append(deposit("beta", as_of=3)) is None


async def test_a_log_from_which_a_sources_event_was_taken_is_noticed_by_what_was_decided_behind_it(started: Join) -> None:
    """The source's later events are dropped, as if it had miscounted; what a service signed behind them says which it was."""
    gate, reader = await started("gate"), await started("executor")
    first, taken = place(1, None), place(2, sha256_hex(place(1, None)))
    kept = place(3, sha256_hex(taken), draft=ended("alpha", "3"))
    await put(gate, first, "1", 0)
    await put(gate, kept, "3", 1)
    await reader.catch_up()
    assert reader.state == ("agent:RunEnded:20221003T1030-alpha-2",)
    await put(gate, sealed(hashed(1, as_of=3), n=1, prev=None, instance="1-a"), "4", 0, "ev.gate.>")
    with pytest.raises(
        LogBroken, match="sequence 3: gate:StateHashed:s1 was decided when sequence 3 was folded, but stands before"
    ):
        await reader.catch_up()
