"""A snapshot is used only for the log and the build that it was made of."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from shared.bus.folder import SNAPSHOT_FILE
from shared.bus.memory import MemoryLog, MemoryRpc
from shared.bus.participant import Participant
from shared.bus.ports import Append
from shared.bus.snapshots import Snapshot, Snapshots
from shared.ledger.fold import apply
from shared.ledger.packing import pack
from shared.ledger.state import State
from shared.protocol.envelope import Draft
from shared.protocol.events import StateHashed
from shared.protocol.ids import prefix
from tests.support.long_log import LongLog

SESSIONS = 2
AT = "2026-01-06T21:00:00.000000Z"


async def log_of(sessions: int = SESSIONS) -> MemoryLog:
    """A desk's log in memory."""
    written, log, fences = LongLog(), MemoryLog(), dict[str, int]()
    written.open_desk()
    for index in range(sessions):
        written.session(index)
    for message in written.take():
        _, author, book, _ = message.subject.split(".")
        fence = prefix(author, book if author == "agent" else None)
        append = Append(message.subject, message.msg_id, message.payload, fence, fences.get(fence, 0))
        fences[fence] = await log.append(append)
    return log


def participant(log: MemoryLog, author: str = "gate") -> Participant[State]:
    """A gate, or another author, on it."""
    return Participant(log, MemoryRpc(), author=author, instance=f"1-{author}", desk="desk", state=State(), apply=apply)


async def folded(log: MemoryLog, folder: Path, limit: int | None = None, author: str = "gate") -> tuple[Participant[State], int]:
    """A gate that is ready, and behind which sequence it began to fold; it leaves a snapshot."""
    gate = participant(log, author)
    snapshots = Snapshots(log, gate, folder)
    await snapshots.restore(limit)
    began = gate.cursor
    await gate.start()
    await snapshots.write()
    await gate.close()
    return gate, began


async def test_folding_goes_on_behind_it_and_gives_the_same(tmp_path: Path) -> None:
    log = await log_of()
    whole, _ = await folded(log, tmp_path)
    again, began = await folded(log, tmp_path)
    assert began == len(log.stored)
    assert pack(again.state) == pack(whole.state)
    assert again.prefixes.marks() == whole.prefixes.marks()


async def test_an_event_that_was_written_before_it_is_never_written_again(tmp_path: Path) -> None:
    log = await log_of()
    await folded(log, tmp_path)
    gate = participant(log)
    await Snapshots(log, gate, tmp_path).restore()
    await gate.start()
    written = next(stored for stored in log.stored if stored.msg_id == "gate:StateHashed:2026-01-05")
    data = msgspec.json.decode(msgspec.json.decode(written.payload, type=dict[str, msgspec.Raw])["data"], type=StateHashed)
    event = await gate.append(Draft("gate", "_desk", "2026-01-05", AT, gate.cursor, data))
    await gate.close()
    assert event is not None
    assert event.seq == written.seq


Spoil = Callable[[Snapshot], bytes]
SPOILT: dict[str, Spoil] = {
    "half": lambda kept: kept.sealed()[:1000],
    "empty": lambda _: b"",
    "one digit of the work part": lambda kept: kept.sealed().replace(b'"deposited":"10000"', b'"deposited":"10001"', 1),
    "one digit of a counter": lambda kept: kept.sealed().replace(b'"n":', b'"n":1', 1),
    "another event": lambda kept: replace(kept, event_sha256="0" * 64).sealed(),
    "a sequence that is not there": lambda kept: replace(kept, seq=kept.seq + 1).sealed(),
    "another hash": lambda kept: replace(kept, state_hash="0" * 64).sealed(),
    "another state": lambda kept: replace(kept, ledger=msgspec.Raw(pack(State()))).sealed(),
    "no state": lambda kept: replace(kept, ledger=msgspec.Raw(b"[]")).sealed(),
    "another format": lambda kept: replace(kept, format=0).sealed(),
    "another protocol": lambda kept: replace(kept, protocol="0" * 64).sealed(),
    "other rules": lambda kept: replace(kept, rules="0" * 64).sealed(),
    "something unknown": lambda kept: kept.sealed().replace(b'{"checksum"', b'{"a":1,"checksum"', 1),
}


@pytest.mark.parametrize("name", SPOILT)
async def test_any_other_is_removed_and_the_log_folded_from_the_start(tmp_path: Path, name: str) -> None:
    log = await log_of()
    whole, _ = await folded(log, tmp_path)
    path = tmp_path / SNAPSHOT_FILE
    right = path.read_bytes()
    spoilt = SPOILT[name](msgspec.json.decode(right, type=Snapshot))
    assert spoilt != right
    path.write_bytes(spoilt)
    again, began = await folded(log, tmp_path)
    assert began == 0
    assert pack(again.state) == pack(whole.state)
    assert path.read_bytes() == right


async def test_that_of_another_log_is_removed(tmp_path: Path) -> None:
    await folded(await log_of(), tmp_path)
    shorter = await log_of(SESSIONS - 1)
    gate, began = await folded(shorter, tmp_path)
    assert (began, gate.cursor) == (0, len(shorter.stored))


@pytest.mark.parametrize("author", ["executor", "agent", "desk", "journal"])
async def test_that_of_another_service_is_removed_for_it_does_not_know_which_ids_were_used(tmp_path: Path, author: str) -> None:
    log = await log_of()
    await folded(log, tmp_path, author=author)
    gate, began = await folded(log, tmp_path)
    assert began == 0
    assert gate.prefixes.of("gate", "_desk").ids


async def test_a_pipe_in_its_place_is_removed_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / SNAPSHOT_FILE)
    _, began = await folded(await log_of(), tmp_path)
    assert began == 0
    assert (tmp_path / SNAPSHOT_FILE).is_file()


async def test_what_cannot_be_removed_is_not_used_either(tmp_path: Path) -> None:
    log = await log_of()
    (tmp_path / SNAPSHOT_FILE).mkdir()
    gate, began = await folded(log, tmp_path)
    assert (began, gate.cursor) == (0, len(log.stored))


async def test_it_is_left_alone_where_older_events_are_needed(tmp_path: Path) -> None:
    log = await log_of()
    await folded(log, tmp_path)
    kept = (tmp_path / SNAPSHOT_FILE).read_bytes()
    gate = participant(log)
    await Snapshots(log, gate, tmp_path).restore(limit=len(log.stored) - 1)
    assert gate.cursor == 0
    assert (tmp_path / SNAPSHOT_FILE).read_bytes() == kept


async def test_without_a_folder_there_is_none() -> None:
    log = await log_of(1)
    gate = participant(log)
    snapshots = Snapshots(log, gate, None)
    await snapshots.restore()
    await gate.start()
    await snapshots.write()
    await gate.close()
    assert gate.cursor == len(log.stored)
