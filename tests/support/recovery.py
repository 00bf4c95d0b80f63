"""Starts one service on a log and says how long it took to be ready, and how much memory it took."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shared.bus.jetstream import Connection
from shared.bus.ports import NoResponder, Unavailable
from tests.support.long_log import LongDesk

START_S: Final = 1200.0
"""A million events folded from the start, each verified, on a machine that others use too."""
END_S: Final = 30.0
MB: Final = 1024


@dataclass(frozen=True)
class Recovery:
    """Seconds from the start of the process to `ready`, the sequence folded, the largest memory in MB, how it ended."""

    ready_s: float
    seq: int
    peak_mb: float
    code: int


def start(service: str, url: str, desk: LongDesk) -> "subprocess.Popen[bytes]":
    """`python -m services.<service>`, as the supervisor starts it, with its own keys and in the desk's data directory."""
    told = {"NATS_URL": url, "DESK": "desk", "DIR": str(desk.folder)}
    if service == "executor":
        told["SIMULATOR_PORT_FILE"] = str(desk.folder / "port")
    env = {**os.environ, **{f"PROPDESK_{name}": value for name, value in told.items()}, **desk.keys.environment(service)}
    with (desk.folder / f"{service}.log").open("ab") as log:
        return subprocess.Popen([sys.executable, "-m", f"services.{service}"], env=env, stderr=log)


async def recover(
    connection: Connection, service: str, url: str, desk: LongDesk, end: signal.Signals = signal.SIGTERM
) -> Recovery:
    """Start it, wait until it is ready, end it with a signal."""
    began = time.monotonic()
    process = start(service, url, desk)
    try:
        seq = await ready(connection, service, process)
        took = time.monotonic() - began
        peak = _peak_mb(process.pid)
    finally:
        process.send_signal(end)
        code = process.wait(END_S)
    return Recovery(took, seq, peak, code)


async def ready(connection: Connection, service: str, process: "subprocess.Popen[bytes]") -> int:
    """Wait until this process says that it is ready; its sequence."""
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        assert process.poll() is None, f"{service} ended with {process.returncode}"
        try:
            answer = json.loads(await connection.rpc.request(f"rpc.{service}.health", b"{}", 1.0))
        except (NoResponder, Unavailable):
            await asyncio.sleep(0.01)
            continue
        if answer["ready"] and answer["pid"] == process.pid:
            return int(answer["seq"])
        await asyncio.sleep(0.01)
    raise AssertionError(f"{service} is not ready after {START_S} s")


def _peak_mb(pid: int) -> float:
    """The most memory that the process ever had in RAM."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / MB
