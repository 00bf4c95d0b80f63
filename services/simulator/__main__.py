"""`python -m services.simulator`: read the settings, load prices and books, serve until told to end."""

import asyncio
import logging
import os
import signal
import sys
from contextlib import suppress
from typing import Final

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
_log: Final = logging.getLogger("services.simulator")


def main() -> int:
    """Run the simulator; 0 after a signal or the parent's end, 1 when its file failed, 2 for what a restart does not mend."""
    logging.basicConfig(format="%(asctime)s simulator %(levelname)s %(message)s", stream=sys.stderr)
    try:
        settings = load_settings()
        logging.getLogger().setLevel(settings.log_level.upper())
        asyncio.run(_run(settings))
    except (SettingsError, PriceFileError, ScenarioError, PortError, JournalRefused) as error:
        _log.error("%s", error)
        return 2
    except (JournalError, NotStored) as error:
        _log.error("%s", error)
        return 1
    return 0


async def _run(settings: Settings) -> None:
    """Build the parts and serve; raises what `main` catches."""
    stop = asyncio.Event()
    for number in ENDING:
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    exchange = _exchange(settings)
    for warning in exchange.file.warnings:
        _log.warning("%s: %s", settings.data, warning)
    journal = JournalFile.open(settings.dir)
    broker = Broker(exchange, journal)
    with listen(settings.dir, settings.port) as listener:
        port = announce(settings.dir, listener)
        _log.info("serving port=%d clock=%s orders=%d", port, broker.state.clock, len(broker.orders))
        parent = asyncio.create_task(_until_parent_ends(settings.parent_pid, stop))
        await Server(broker, calendar(CALENDAR)).run(listener, stop)
        parent.cancel()
    journal.close()


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
