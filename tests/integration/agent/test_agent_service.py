"""The agent on an in-memory log whose other authors are written by hand."""

import asyncio
from collections.abc import AsyncIterator
from datetime import date, timedelta
from pathlib import Path

import pytest

from services.agent.history_reader import HistoryReader
from services.agent.runs import Unready
from services.agent.service import Agent
from services.agent.sources import SourceError, keep_source, log_argument
from shared.bus.memory import MemoryRpc
from shared.bus.ports import NoResponder
from shared.protocol.events import ClockAdvanced, ProposalMade, RunEnded, RunStarted
from shared.protocol.ids import DESK_BOOK
from shared.protocol.reasons import RunStatus, StopReason
from tests.integration.agent.stage import PAUSE_S, AgentProcess, Stage
from tests.support.scribe import SESSION, SLOT

DAYS = [(date(2022, 9, 30) - timedelta(days=back)).isoformat() for back in range(126, -1, -1)]
RISING = {
    "AAA": [(day, "10") for day in DAYS[:-1]] + [(DAYS[-1], "11")],
    "BBB": [(day, "10") for day in DAYS[:-1]] + [(DAYS[-1], "12")],
}


@pytest.fixture
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    """An opened desk with the books that the test is parametrized with."""
    made = Stage(*request.param)
    await made.open()
    yield made
    await made.close()


def ended(stage: Stage, runs: int) -> bool:
    """Whether so many runs have ended."""
    return sum(event.type == "RunEnded" for event in stage.events()) == runs


@pytest.mark.parametrize("stage", [("equal_weight", "rule_breaker")], indirect=True)
async def test_every_due_book_is_run_from_its_start_to_its_end_in_configuration_order(stage: Stage, tmp_path: Path) -> None:
    await AgentProcess(stage, tmp_path).until(lambda: ended(stage, 2), stage.play())

    events = stage.events()
    for book in ("equal_weight", "rule_breaker"):
        run = f"20221003T1030-{book}-1"
        assert [event.id for event in events if event.book == book] == [
            f"agent:RunStarted:{run}",
            f"agent:ProposalMade:{run}",
            f"agent:RunEnded:{run}",
        ]
    (judged,) = (event.seq for event in stage.events("gate") if (event.type, event.book) == ("Verdict", "equal_weight"))
    (next_start,) = (event.seq for event in events if (event.type, event.book) == ("RunStarted", "rule_breaker"))
    assert judged < next_start
    assert {event.at for event in events} == {SLOT}
    assert events[0].expect(RunStarted).names == ("AAA:USD", "BBB:USD")
    # 10,000 / 2 names = 5,000: 50 of AAA at 100, 100 of BBB at 50
    orders = events[1].expect(ProposalMade).orders
    assert [(row.symbol, row.quantity, row.limit) for row in orders] == [("AAA", "50", "101"), ("BBB", "100", "50.5")]
    assert {event.expect(RunEnded).status for event in events if event.type == "RunEnded"} == {RunStatus.OK}


@pytest.mark.parametrize("stage", [("momentum",)], indirect=True)
async def test_a_run_waits_for_its_history_while_the_executor_is_away(stage: Stage, tmp_path: Path) -> None:
    async def play() -> None:
        playing = asyncio.ensure_future(stage.play())
        for _ in range(20):
            await asyncio.sleep(PAUSE_S)
        assert "ProposalMade" not in {event.type for event in stage.events()}
        await stage.answer_history(RISING)
        await playing

    await AgentProcess(stage, tmp_path).until(lambda: ended(stage, 1), play())

    made = stage.events()[1].expect(ProposalMade)
    assert stage.asked == [{"symbols": ["AAA", "BBB"], "currency": "USD", "count": 127}]
    assert made.summary.startswith("best of 2: BBB:USD, AAA:USD")
    # 19 % of 10,000 = 1,900: 19 of AAA at 100, 38 of BBB at 50
    assert [(row.symbol, row.quantity) for row in made.orders] == [("AAA", "19"), ("BBB", "38")]


@pytest.mark.parametrize("stage", [("momentum",)], indirect=True)
async def test_an_error_or_an_answer_of_another_session_is_asked_again(stage: Stage, tmp_path: Path) -> None:
    answers = [b'{"error":{"code":"busy","message":"later"}}', b'{"session":"2022-10-04","bars":{}}', b"?"]

    async def answer(payload: bytes) -> bytes:
        if answers:
            return answers.pop(0)
        await stage.answer_history(RISING)
        raise NoResponder("gone for a moment")

    await stage.rpc.serve("rpc.executor.history", answer)

    await AgentProcess(stage, tmp_path).until(lambda: ended(stage, 1), stage.play())

    assert answers == []
    assert len(stage.events()[1].expect(ProposalMade).orders) == 2


class BrokenRpc(MemoryRpc):
    """A network whose requests end in a way that nobody foresaw."""

    async def request(self, subject: str, payload: bytes, timeout_s: float) -> bytes:
        raise ZeroDivisionError("a fault of ours")


async def test_what_nobody_foresaw_ends_that_run_with_its_words_and_no_other(tmp_path: Path) -> None:
    stage = Stage("momentum", "equal_weight", rpc=BrokenRpc())
    await stage.open()

    await AgentProcess(stage, tmp_path).until(lambda: ended(stage, 2), stage.play())

    ends = {event.book: event.expect(RunEnded) for event in stage.events() if event.type == "RunEnded"}
    assert ends["momentum"] == RunEnded(RunStatus.ERROR, "ZeroDivisionError: a fault of ours")
    assert ends["equal_weight"].status is RunStatus.OK
    await stage.close()


@pytest.mark.parametrize("stage", [("momentum", "equal_weight", "hold")], indirect=True)
async def test_a_process_that_dies_after_every_event_leaves_the_same_events(stage: Stage, tmp_path: Path) -> None:
    await stage.answer_history(RISING)
    other = Stage("momentum", "equal_weight", "hold")
    await other.open()
    await other.answer_history(RISING)
    process = AgentProcess(stage, tmp_path)
    playing = asyncio.ensure_future(stage.play())

    for count in range(1, 10):
        await process.until(lambda count=count: len(stage.events()) >= count)  # type: ignore[misc]
    await playing
    await AgentProcess(other, tmp_path).until(lambda: ended(other, 3), other.play())
    await other.close()

    assert len({event.envelope.by.instance for event in stage.events()}) > 1
    assert _facts(stage) == _facts(other)


def _facts(stage: Stage) -> dict[str, tuple[str, bytes]]:
    return {event.id: (event.at, bytes(event.envelope.data)) for event in stage.events()}


@pytest.mark.parametrize("stage", [("hold",)], indirect=True)
async def test_a_run_held_by_its_source_ends_as_held(stage: Stage, tmp_path: Path) -> None:
    await AgentProcess(stage, tmp_path).until(lambda: ended(stage, 1), stage.play())

    events = stage.events()
    assert events[1].expect(ProposalMade).stop_reason is StopReason.HELD
    assert events[-1].expect(RunEnded).status is RunStatus.HELD


async def test_a_file_is_read_from_the_copy_that_the_desk_kept(tmp_path: Path) -> None:
    file, data_dir = tmp_path / "plan.jsonl", tmp_path / "data"
    order = '{"symbol": "AAA", "currency": "USD", "side": "BUY", "quantity": 3, "limit": 99.5}'
    file.write_text(f'{{"date": "{SESSION}", "orders": [{order}]}}\n', encoding="utf-8")
    keep_source("file", str(file), data_dir)
    stage = Stage("file", argument=log_argument("file", str(file)))
    await stage.open()
    file.unlink()

    await AgentProcess(stage, data_dir).until(lambda: ended(stage, 1), stage.play())
    await stage.close()

    assert [(row.quantity, row.limit) for row in stage.events()[1].expect(ProposalMade).orders] == [("3", "99.5")]


async def test_a_file_with_100_orders_for_a_session_ends_its_run_as_source_failed(tmp_path: Path) -> None:
    order = '{"symbol": "AAA", "currency": "USD", "side": "BUY", "quantity": 3, "limit": 99.5}'
    file = tmp_path / "plan.jsonl"
    file.write_text(f'{{"date": "{SESSION}", "orders": [{", ".join([order] * 100)}]}}\n', encoding="utf-8")
    stage = Stage("file", argument=str(file))
    await stage.open()

    await AgentProcess(stage, tmp_path).until(lambda: ended(stage, 1), stage.play())
    await stage.close()

    events = stage.events()
    assert [event.type for event in events] == ["RunStarted", "SourceFailed", "RunEnded"]
    assert events[-1].expect(RunEnded).status is RunStatus.SOURCE_FAILED
    assert "too_many_orders: 100 orders" in events[-1].expect(RunEnded).message


async def test_a_source_that_cannot_be_opened_ends_the_process_and_writes_nothing(tmp_path: Path) -> None:
    stage = Stage("file", argument="sha256:" + "0" * 64)
    await stage.open()
    playing = asyncio.ensure_future(stage.play())

    with pytest.raises(SourceError, match="cannot be read"):
        await AgentProcess(stage, tmp_path).until(lambda: False)
    playing.cancel()
    await asyncio.gather(playing, return_exceptions=True)
    await stage.close()

    assert [event.type for event in stage.events()] == ["RunStarted"]


@pytest.mark.parametrize("stage", [("hold",)], indirect=True)
async def test_a_due_book_that_the_arguments_do_not_name_is_an_error_that_names_it(stage: Stage, tmp_path: Path) -> None:
    await AgentProcess(stage, tmp_path).until(lambda: ended(stage, 1), stage.play())
    late = "2022-10-03T15:30:00.000000Z"
    await stage.write("desk", DESK_BOOK, f"{DESK_BOOK}-late", ClockAdvanced(late, "slot", SESSION, ("stranger",)))
    participant = await stage.participant("agent", "9-agent")
    history = HistoryReader(stage.rpc, participant.wake, timeout_s=1, pause_s=PAUSE_S)

    with pytest.raises(Unready, match="stranger"):
        Agent(participant, history, tmp_path).decide()
    await participant.close()
