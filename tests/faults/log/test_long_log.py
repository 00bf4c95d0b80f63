"""Long logs: how soon a service is ready, what it needs for it, and damage far behind the end."""

import signal
from pathlib import Path
from typing import Final

import pytest

from tests.faults.log.damage import Desk, flip_bit, start
from tests.support.desks import command
from tests.support.long_log import make_desk
from tests.support.recovery import recover

MAX_MB: Final = 400
BLOCKS_EVENTS: Final = 15_000
"""So many that the log has several block files of 8 MB."""
ENDS: Final = {"from zero": signal.SIGTERM, "behind its snapshot": signal.SIGKILL, "from half a snapshot": signal.SIGTERM}
"""How a service is started, and how it is ended then; the first and the last leave a snapshot."""


@pytest.fixture
async def older(tmp_path: Path) -> tuple[Desk, int]:
    """A directory with a long log, which a gate saw to its end and of which it has a snapshot; the last sequence."""
    made = await make_desk(tmp_path / "desk", BLOCKS_EVENTS)
    server = made.server()
    server.start()
    connection = await made.connect(server)
    found = await recover(connection, "gate", server.url, made)
    await connection.close()
    server.stop()
    assert found.seq == made.seq
    return Desk(made.folder, []), made.seq


async def test_commands_take_the_generated_log_for_that_of_any_other_desk(tmp_path: Path) -> None:
    made = await make_desk(tmp_path / "desk", 1_000)
    replayed = command("replay", "--dir", str(made.folder))
    assert replayed.returncode == 0, replayed.stderr
    assert f"state {made.state_hash}" in replayed.stdout
    explained = command("explain", "20260105T1030-alpha-1", "--dir", str(made.folder))
    assert explained.returncode == 0, explained.stderr
    assert f"a log that ends at sequence {made.seq}" in explained.stdout
    assert "each is signed with its writer's key" in explained.stdout


@pytest.mark.parametrize("killed", [False, True])
async def test_a_bit_flipped_in_an_older_block_is_noticed_though_the_end_is_as_it_was(
    older: tuple[Desk, int], killed: bool
) -> None:
    desk, last_seq = older
    assert len(desk.blocks) > 1
    flip_bit(desk.blocks[0])
    if killed:
        desk.forget_index()
    code, said = start(desk)
    assert code == 1, said
    assert "the log is incomplete: " in said
    assert "sequence" in said
    assert f"to {last_seq} are lost" not in said


@pytest.mark.long
@pytest.mark.parametrize(("events", "services"), [(100_000, ("gate", "executor", "agent", "journal")), (1_000_000, ("gate",))])
async def test_a_service_is_ready_behind_its_snapshot_and_without_it_and_needs_little_memory(
    tmp_path: Path, events: int, services: tuple[str, ...]
) -> None:
    made = await make_desk(tmp_path / "desk", events)
    server = made.server()
    server.start()
    connection = await made.connect(server)
    try:
        for service in services:
            snapshot = made.folder / "services" / service / "snapshot.json"
            kept = b""
            for name, end in ENDS.items():
                found = await recover(connection, service, server.url, made, end)
                print(f"{service} at {made.seq} {name}: ready after {found.ready_s:.2f} s, {found.peak_mb:.0f} MB", flush=True)
                assert found.seq == made.seq
                assert found.peak_mb < MAX_MB
                kept = kept or snapshot.read_bytes()
                if end is signal.SIGKILL:
                    snapshot.write_bytes(kept[: len(kept) // 2])
            assert b"event dropped" not in (made.folder / f"{service}.log").read_bytes()
            assert snapshot.read_bytes() == kept
            assert b"snapshot removed, the log is folded from the start" in (made.folder / f"{service}.log").read_bytes()
    finally:
        await connection.close()
        server.stop()
