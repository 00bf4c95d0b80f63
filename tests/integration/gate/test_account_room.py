"""Four sources propose eight orders against a limit of the account with room for one: one is approved, whatever the gate does."""

import asyncio
from contextlib import suppress

import pytest
from msgspec.structs import replace

from services.gate.service import work
from shared.bus.ports import Fenced
from shared.ledger.state import State
from shared.protocol.events import AccountReconciled, PolicyAdopted, ProposalMade, RunStarted, Verdict
from shared.protocol.ids import DESK_BOOK
from shared.protocol.market import ProposedOrder
from shared.protocol.money import Exact
from shared.protocol.policy import AccountLimits
from shared.protocol.reasons import Rule, StopReason
from tests.integration.gate.rest import WAIT_S, GateProcess, Rest
from tests.support.scribe import POLICY, SESSION, SLOT
from tests.unit.gate.walk import observed

BOOKS = ("alpha", "beta", "gamma", "delta")
NAMES = ("AAA:USD", "BBB:USD")
PRICES = {"AAA": "100", "BBB": "50"}
# each is worth 1000; the account 40000
BATCH = (ProposedOrder("AAA", "USD", "BUY", "10", "100"), ProposedOrder("BBB", "USD", "BUY", "20", "50"))
ONE = (
    (AccountLimits(max_orders_per_day=1), Rule.DAILY_ORDERS),
    (AccountLimits(max_gross_pct=Exact("4.9")), Rule.GROSS_EXPOSURE),
)


class Room(Rest):
    """Four books whose proposals lie in the log, all of them not yet judged."""

    async def proposed(self, limits: AccountLimits, gate: GateProcess) -> None:
        """Up to the last proposal's evidence; the gate values and clears each run before it."""
        await self.open()
        rules = replace(POLICY, account=limits)
        await self.write("desk", DESK_BOOK, DESK_BOOK, PolicyAdopted(rules, (), "p2", "room for one"), k=2)
        await self.clock("slot", SLOT, self.books)
        runs = {book: f"20221003T1030-{book}-1" for book in self.books}
        for book, run in runs.items():
            await self.write("agent", book, run, RunStarted("scripted", SLOT, SESSION, NAMES), run)
            await self.write("executor", book, run, AccountReconciled("DU1", {"USD": Exact(40000)}, {}, ()), run)
            await self.write("executor", book, run, observed("run", SLOT, PRICES), run)
        await gate.until(lambda: len(self.events()) == 2 * len(runs))
        for book, run in runs.items():
            await self.write("agent", book, run, ProposalMade("scripted", BATCH, "", StopReason.SUBMITTED), run)
        for book, run in runs.items():
            await self.write("executor", book, run, observed("verdict", SLOT, PRICES), run, k=2)

    def verdicts(self) -> list[Verdict]:
        """All of them, in order."""
        return [event.expect(Verdict) for event in self.events() if event.type == "Verdict"]

    def check(self, rule: Rule) -> None:
        """One of eight is approved, in the first verdict; the others are told why."""
        decisions = [row for verdict in self.verdicts() for row in verdict.decisions]
        assert len(self.verdicts()) == len(BOOKS)
        assert [row.approved for row in decisions] == [True] + [False] * 7
        assert {tuple(why.rule for why in row.reasons) for row in decisions[1:]} == {(rule,)}


@pytest.mark.parametrize(("limits", "rule"), ONE)
@pytest.mark.parametrize("kills", [(), (1,), (1, 2, 3)])
async def test_one_is_approved_also_when_the_gate_is_killed_between_verdicts(
    limits: AccountLimits, rule: Rule, kills: tuple[int, ...]
) -> None:
    room = Room(*BOOKS)
    gate = GateProcess(room)
    await room.proposed(limits, gate)

    for count in (*kills, len(BOOKS)):
        await gate.until(lambda count=count: len(room.verdicts()) >= count)  # type: ignore[misc]
    await room.close()

    room.check(rule)


@pytest.mark.parametrize(("limits", "rule"), ONE)
async def test_one_is_approved_with_two_gates_of_which_the_log_lets_one_write(limits: AccountLimits, rule: Rule) -> None:
    room = Room(*BOOKS)
    await room.proposed(limits, GateProcess(room))
    gates = [await room.participant("gate", f"{number}-gate") for number in (8, 9)]
    fenced: list[object] = []

    async def judge(participant: object) -> None:
        try:
            while len(room.verdicts()) < len(BOOKS):
                await work(participant)  # type: ignore[arg-type]
        except Fenced:
            fenced.append(participant)

    tasks = [asyncio.ensure_future(judge(gate)) for gate in gates]
    async with asyncio.timeout(WAIT_S):
        while len(room.verdicts()) < len(BOOKS):
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED, timeout=0.1)
    for task, gate in zip(tasks, gates, strict=True):
        gate.wake()
        with suppress(Fenced):
            await task
        await gate.close()
    await room.close()

    room.check(rule)
    assert len(fenced) == 1


async def test_a_verdict_decided_before_anothers_was_written_is_refused_and_decided_again() -> None:
    from services.gate.service import next_draft

    room = Room(*BOOKS)
    await room.proposed(ONE[0][0], GateProcess(room))
    gate = await room.participant("gate", "8-gate")
    stale = next_draft(gate)
    assert stale is not None
    # the log moves by an event of another author
    await room.write("executor", DESK_BOOK, "late", AccountReconciled("DU1", {"USD": Exact(40000)}, {}, ()))

    assert await gate.append(stale) is None
    fresh: State = gate.state
    assert fresh.seq > stale.as_of
    await gate.close()
    await room.close()
