"""Emulated power loss: what the block device held at one moment is all that is left."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.bus.jetstream import connect, ensure_stream
from shared.bus.js_api import stream_info
from shared.bus.ports import Append
from tests.integration.bus.servers import NatsServer

IMAGE_BYTES = 64 * 1024 * 1024
WRITING_S = 3.0
MISSING = "needs root and mkfs.ext4: the store lies on an ext4 image mounted by loop device"

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mkfs.ext4") is None, reason=MISSING)


def format_image(image: Path) -> None:
    """An empty ext4 file system in a file."""
    image.touch()
    os.truncate(image, IMAGE_BYTES)
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True)


@contextlib.contextmanager
def mounted(image: Path, at: Path) -> Iterator[Path]:
    """An image mounted for the time being."""
    at.mkdir()
    done = subprocess.run(["mount", "-o", "loop", str(image), str(at)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no loop device can be mounted here: {done.stderr.strip()}")
    try:
        yield at
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


async def write_events(server: NatsServer) -> int:
    """Append for some seconds; returns the last sequence that was acknowledged."""
    connection = await connect(server.url, "desk")
    await ensure_stream(connection)
    seq, until = 0, time.monotonic() + WRITING_S
    while time.monotonic() < until:
        message = Append("ev.desk._desk.CancelOrdered", f"desk:CancelOrdered:{seq}", b"x" * 500, "ev.desk.>", seq)
        seq = await connection.log.append(message)
    await connection.close()
    return seq


async def last_kept(server: NatsServer) -> int:
    """The last sequence of the stream, 0 if there is no stream any more."""
    connection = await connect(server.url, "desk")
    info = await stream_info(connection.link)
    await connection.close()
    return info.state.last_seq if info else 0


async def lost_by_power_cut(folder: Path, lazy: bool) -> tuple[int, int]:
    """Acknowledged and kept events when the power goes while a server writes."""
    image, copy = folder / "disk.img", folder / "after.img"
    format_image(image)
    with mounted(image, folder / "before") as disk:
        server = NatsServer(disk, lazy=lazy).start()
        assert server.process is not None
        acknowledged = await write_events(server)
        os.kill(server.process.pid, signal.SIGSTOP)
        shutil.copyfile(image, copy)
        server.process.kill()
        server.process.wait()
    with mounted(copy, folder / "after") as disk:
        server = NatsServer(disk, lazy=lazy).start()
        assert server.process is not None
        kept = await last_kept(server)
        server.process.kill()
        server.process.wait()
    return acknowledged, kept


async def test_a_power_cut_loses_nothing_acknowledged_with_the_shipped_configuration(tmp_path: Path) -> None:
    acknowledged, kept = await lost_by_power_cut(tmp_path, lazy=False)
    print(f"{acknowledged} acknowledged, {kept} kept")
    assert acknowledged > 100
    assert kept >= acknowledged


async def test_the_same_cut_loses_events_with_lazy_flushing_so_the_test_can_fail(tmp_path: Path) -> None:
    acknowledged, kept = await lost_by_power_cut(tmp_path, lazy=True)
    print(f"{acknowledged} acknowledged, {kept} kept")
    assert acknowledged > 100
    assert kept < acknowledged
