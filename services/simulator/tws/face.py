"""The TWS face of a simulator process: gateway, socket, frame log and scenario put together."""

import asyncio
import socket
from pathlib import Path
from random import Random
from typing import Final

from services.simulator.broker import Broker
from services.simulator.settings import Settings, SettingsError
from services.simulator.ticking import Ticker
from services.simulator.tws.acting import act
from services.simulator.tws.faults import FaultError, Scheduled, read_fault, read_scenario
from services.simulator.tws.frame_log import FrameLog
from services.simulator.tws.gateway import Gateway
from services.simulator.tws.server import TwsServer
from shared.protocol.calendar import Calendar

MAX_SCENARIO_BYTES: Final = 16 * 1024 * 1024
DEFAULT_SESSIONS: Final = 60


class Face:
    """Serves the TWS protocol beside the control port; `fault` is what the control port hands on."""

    def __init__(self, broker: Broker, calendar: Calendar, settings: Settings) -> None:
        """Build the parts; raises `SettingsError` for a scenario or frame log that cannot be used."""
        self.gateway = Gateway(broker, calendar)
        self.gateway.scenario = _scenario(settings.faults) if settings.faults is not None else []
        if settings.seed:
            self.gateway.conditions.random = Random(settings.seed)
        try:
            self._server = TwsServer(self.gateway, FrameLog(settings.frames))
        except OSError as error:
            raise SettingsError(f"frames: {settings.frames} cannot be written ({error.strerror})") from error
        self.gateway.play()

    def fault(self, document: bytes) -> None:
        """Do one fault of the control port; raises `FaultError`, `NotStored`, `JournalError`."""
        act(self.gateway, read_fault(document))

    async def run(self, listener: socket.socket, stop: asyncio.Event) -> None:
        """Serve until `stop`; raises `JournalError`."""
        await self._server.run(listener, stop)


def prepare(settings: Settings, broker: Broker, calendar: Calendar) -> tuple[Face, Ticker | None]:
    """The face, and the clock that moves time unless the control port does; raises `SettingsError`."""
    face = Face(broker, calendar, settings)
    if settings.clock == "step":
        return face, None
    speed = settings.speed if settings.clock == "accelerated" else 1
    face.gateway.clock = Ticker(broker, calendar, _start(broker, settings), speed)
    return face, face.gateway.clock


def _start(broker: Broker, settings: Settings) -> int:
    """The index of the first session; raises `SettingsError` for a day that is none."""
    file = broker.exchange.file
    if settings.start is None:
        return max(len(file.sessions) - DEFAULT_SESSIONS, 0)
    index = file.index(settings.start)
    if index is None:
        raise SettingsError(
            f"start: {settings.start} is no session of {file.path.name}, which has {file.sessions[0]} to {file.sessions[-1]}"
        )
    return index


def _scenario(path: Path) -> list[Scheduled]:
    """The faults of a file in the order of their time; raises `SettingsError`."""
    try:
        with path.open("rb") as file:
            lines = file.read(MAX_SCENARIO_BYTES + 1)
        if len(lines) > MAX_SCENARIO_BYTES:
            raise SettingsError(f"faults: {path} has over {MAX_SCENARIO_BYTES} bytes")
        return sorted(read_scenario(lines), key=lambda line: line.at or "")
    except OSError as error:
        raise SettingsError(f"faults: {path} cannot be read ({error.strerror})") from error
    except FaultError as error:
        raise SettingsError(f"faults: {path}, {error}") from error
