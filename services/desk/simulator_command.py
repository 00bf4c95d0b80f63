"""`propdesk simulator`: the stand-in gateway alone, for a client of Interactive Brokers to connect to."""

import contextlib
import logging
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from services.desk.console import say, show, show_json
from services.desk.errors import DeskError, Interrupted, RunFailed, UsageError
from services.simulator.__main__ import Ports, serve
from services.simulator.journal_file import JournalError, JournalRefused, NotStored
from services.simulator.listening import HOST, PortError
from services.simulator.prices import PriceFileError
from services.simulator.scenario_file import ScenarioError
from services.simulator.settings import DATA, Settings, SettingsError, refusal


@dataclass(frozen=True, slots=True)
class SimulatorOptions:
    """What was typed; None is the default of the settings."""

    port: int
    control: int
    data: Path | None
    directory: Path | None
    clock: str
    speed: int | None
    start: str | None
    seed: int
    scenario: Path | None
    faults: Path | None
    frames: Path | None
    base_currency: str | None
    cash: str | None
    fx: tuple[str, ...]


def simulate(options: SimulatorOptions, *, as_json: bool) -> None:
    """Serve until a signal; raises `UsageError`, `DeskError`, and `Interrupted` at the signal's end."""
    logging.basicConfig(format="%(asctime)s simulator %(levelname)s %(message)s", stream=sys.stderr)
    with _folder(options.directory) as folder:
        settings = _settings(options, folder)
        try:
            number = serve(settings, lambda ports: _announce(settings, ports, as_json=as_json))
        except (SettingsError, PriceFileError, ScenarioError, PortError, JournalRefused) as error:
            raise UsageError(str(error)) from error
        except (JournalError, NotStored) as error:
            raise RunFailed(str(error)) from error
    if number:
        raise Interrupted(number)


@contextlib.contextmanager
def _folder(directory: Path | None) -> Iterator[Path]:
    """Where the broker's books are kept: a folder that was named, else one that is gone at the end."""
    if directory is not None:
        yield directory
        return
    with tempfile.TemporaryDirectory(prefix="propdesk-simulator-") as made:
        yield Path(made)


def _settings(options: SimulatorOptions, folder: Path) -> Settings:
    """The settings of the process; raises `UsageError`. Variables PROPDESK_SIMULATOR_* take no part."""
    same = ("data", "clock", "speed", "start", "seed", "scenario", "faults", "frames", "base_currency", "cash")
    given: dict[str, Any] = {name: getattr(options, name) for name in same}
    given |= {"dir": folder, "port": options.control, "tws_port": options.port, "fx": _rates(options.fx)}
    try:
        return Settings.of({name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise UsageError("; ".join(refusal(dict(fault), option) for fault in error.errors())) from error


def option(place: str) -> str:
    """The option that a setting comes from."""
    return {"port": "--control", "tws_port": "--port", "dir": "--dir", "start": "--from", "": "--fx"}.get(
        place, f"--{place.replace('_', '-')}"
    )


def _rates(texts: tuple[str, ...]) -> dict[str, str]:
    """`CUR=RATE` as a table; raises `UsageError`."""
    rates = {}
    for text in texts:
        currency, equals, rate = text.partition("=")
        if not equals:
            raise UsageError(f"--fx {text[:40]!r}: give CURRENCY=RATE, base units per unit of it, such as EUR=1.10")
        rates[currency] = rate
    return rates


def _announce(settings: Settings, ports: Ports, *, as_json: bool) -> None:
    """Say where it is served: for a program one JSON line on stdout, for a person a few words."""
    if ports.tws is None:
        raise DeskError("the simulator has no TWS port")
    if as_json:
        show_json(
            {
                "host": HOST,
                "port": ports.tws,
                "control": ports.control,
                "account": settings.terms().account,
                "clock": settings.clock,
            }
        )
        return
    what = "moved over the control port" if settings.clock == "step" else settings.clock
    show(f"TWS at {HOST}:{ports.tws}, account {settings.terms().account}, paper; control at {HOST}:{ports.control}; clock {what}")
    if settings.data == DATA and settings.clock != "step":
        say("the bundled data have closes only: orders fill at a session's close (docs/simulator.md)")
    say("Ctrl-C ends it")
