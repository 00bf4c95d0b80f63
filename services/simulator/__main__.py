"""`python -m services.simulator`: read the settings, load prices and books, serve until told to end."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import ExitStack, suppress
from typing import Any, Final, NamedTuple

from services.simulator.broker import Broker
from services.simulator.exchange import Exchange
from services.simulator.journal_file import JournalError, JournalFile, JournalRefused, NotStored
from services.simulator.listening import PortError, announce, listen
from services.simulator.prices import PriceFileError, load_prices
from services.simulator.scenario_file import ScenarioError, check_scenario, load_scenario
from services.simulator.server import Server
from services.simulator.settings import Settings, SettingsError, load_settings
from shared.protocol.calendar import calendar

CALENDAR: Final = "XNYS"
ENDING: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
PARENT_POLL_S: Final = 0.5
TWS_PORT_NAME: Final = "tws_port"
_log: Final = logging.getLogger("services.simulator")


class Ports(NamedTuple):
    """Where it is served: the control port, and the port of the TWS face if there is one."""

    control: int
    tws: int | None


Ready = Callable[[Ports], None]


def main() -> int:
    """Run the simulator; 0 after a signal or the parent's end, 1 when its file failed, 2 for what a restart does not mend."""
    logging.basicConfig(format="%(asctime)s simulator %(levelname)s %(message)s", stream=sys.stderr)
    try:
        settings = load_settings()
        logging.getLogger().setLevel(settings.log_level.upper())
        serve(settings)
    except (SettingsError, PriceFileError, ScenarioError, PortError, JournalRefused) as error:
        _log.error("%s", error)
        return 2
    except (JournalError, NotStored) as error:
        _log.error("%s", error)
        return 1
    return 0


def serve(settings: Settings, ready: Ready | None = None) -> int:
    """Serve until a signal (its number) or the parent's end (0); `ready` is told the ports. Raises what `main` catches."""
    return asyncio.run(_run(settings, ready))


async def _run(settings: Settings, ready: Ready | None) -> int:
    """Build the parts and serve them."""
    stop = asyncio.Event()
    came: list[int] = []

    def end(number: int) -> None:
        """A signal came."""
        came.append(number)
        stop.set()

    for number in ENDING:
        asyncio.get_running_loop().add_signal_handler(number, end, number)
    exchange = _exchange(settings)
    for warning in exchange.file.warnings:
        _log.warning("%s: %s", settings.data, warning)
    journal = JournalFile.open(settings.dir)
    broker = Broker(exchange, journal)
    with ExitStack() as sockets:
        parts = _parts(settings, broker, stop, sockets, ready)
        parent = asyncio.create_task(_until_parent_ends(settings.parent_pid, stop))
        try:
            await _all(parts, stop)
        finally:
            parent.cancel()
    journal.close()
    return came[0] if came else 0


def _parts(
    settings: Settings, broker: Broker, stop: asyncio.Event, sockets: ExitStack, ready: Ready | None
) -> list[Coroutine[Any, Any, None]]:
    """The control port and, where they are wanted, the TWS face and a clock of its own."""
    hours = calendar(CALENDAR)
    control = sockets.enter_context(listen(settings.dir, settings.port))
    ports = Ports(announce(settings.dir, control), None)
    parts: list[Coroutine[Any, Any, None]] = []
    fault = None
    if settings.tws_port is not None:
        from services.simulator.tws.face import prepare

        face, ticker = prepare(settings, broker, hours)
        gateway = sockets.enter_context(listen(settings.dir, settings.tws_port, TWS_PORT_NAME))
        ports = Ports(ports.control, announce(settings.dir, gateway, TWS_PORT_NAME))
        parts = [face.run(gateway, stop), *([ticker.run()] if ticker is not None else [])]
        fault = face.fault
    parts.append(Server(broker, hours, settings.clock, fault).run(control, stop))
    _log.info("serving port=%d clock=%s orders=%d", ports.control, broker.state.clock, len(broker.orders))
    if ready is not None:
        ready(ports)
    return parts


async def _all(parts: list[Coroutine[Any, Any, None]], stop: asyncio.Event) -> None:
    """Run all parts until `stop`; the first that fails stops the others, and its error is raised."""
    tasks = [asyncio.create_task(part) for part in parts]
    for task in tasks:
        task.add_done_callback(lambda done: stop.set() if not done.cancelled() and done.exception() is not None else None)
    await stop.wait()
    # The servers end by `stop`, the clock has to be told.
    clock = tasks[1:-1]
    for task in clock:
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    for error in ended:
        if isinstance(error, Exception):
            raise error


def _exchange(settings: Settings) -> Exchange:
    """The prices, the account's terms and the scenario; raises what `main` catches."""
    prices, terms = load_prices(settings.data, calendar(CALENDAR).is_session), settings.terms()
    if settings.scenario is None:
        return Exchange(prices, terms)
    scenario = load_scenario(settings.scenario)
    check_scenario(scenario, prices, terms)
    return Exchange(prices, terms, scenario)


async def _until_parent_ends(pid: int | None, stop: asyncio.Event) -> None:
    """Set `stop` once the process that started this one is no longer `pid`: nothing stays behind a killed supervisor."""
    if pid is None:
        return
    while os.getppid() == pid:
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), PARENT_POLL_S)
            return
    _log.warning("the parent process %d has ended: ending too", pid)
    stop.set()


if __name__ == "__main__":
    sys.exit(main())
