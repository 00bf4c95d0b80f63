"""Reading a scenario from its file, TOML or JSON by its name, and checking it against the prices that it is about."""

import json
import tomllib
from datetime import date, datetime, time
from pathlib import Path
from typing import Final

import msgspec

from services.simulator.orders import EXCHANGE, Terms
from services.simulator.prices import PriceFile
from services.simulator.scenario import Scenario
from shared.protocol.files import FileRefused, read_regular
from shared.protocol.money import Exact

MAX_BYTES: Final = 1_000_000
MAX_NAMED: Final = 5


class ScenarioError(Exception):
    """A scenario that is refused: file, place, and what is wrong."""


def load_scenario(path: Path) -> Scenario:
    """Read a scenario; raises `ScenarioError`. Numbers may be text or plain numbers, both are taken exactly."""
    try:
        content = read_regular(path, MAX_BYTES, "a TOML or JSON file")
    except FileRefused as error:
        raise ScenarioError(f"{path}: {error}") from error
    try:
        return msgspec.convert(_parsed(path, content.decode("utf-8-sig")), Scenario, dec_hook=_read_exact)
    except RecursionError as error:
        raise ScenarioError(f"{path}: nested too deeply") from error
    except ValueError as error:
        raise ScenarioError(f"{path}: {error}") from error


def check_scenario(scenario: Scenario, prices: PriceFile, terms: Terms) -> None:
    """Raise `ScenarioError` for sessions and names that the prices do not have, and currencies without any rate."""
    sessions = {day.isoformat() for day in prices.sessions}
    _refuse("no sessions of the data", [day for day in scenario.days() if day not in sessions])
    _refuse("no names of the data", [symbol for symbol in scenario.symbols() if symbol not in prices.columns])
    exchanges = {EXCHANGE, *(entry.exchange for entry in scenario.listing if entry.exchange)}
    _refuse("exchanges where nothing is listed", sorted({entry.exchange for entry in scenario.closed} - exchanges))
    known = {terms.base_currency, *terms.fx, *(entry.currency for entry in scenario.fx if entry.rate and not entry.session)}
    wanted = {entry.currency for entry in scenario.listing if entry.currency} | {entry.currency for entry in scenario.adjust}
    lacking = sorted(currency for currency in wanted if currency and currency not in known)
    _refuse("currencies without a rate from the start (an [[fx]] entry without session)", lacking)
    if any(entry.currency == terms.base_currency for entry in scenario.fx):
        raise ScenarioError(f"[[fx]]: the rate of {terms.base_currency}, the base currency, is 1 and stays so")


def _refuse(what: str, named: list[str]) -> None:
    """Raise `ScenarioError` if anything is named."""
    if named:
        more = f" and {len(named) - MAX_NAMED} more" if len(named) > MAX_NAMED else ""
        raise ScenarioError(f"the scenario names {what}: {', '.join(named[:MAX_NAMED])}{more}")


def _parsed(path: Path, text: str) -> object:
    """The document as plain values; raises `ValueError`."""
    if path.suffix.lower() == ".json":
        return json.loads(text, parse_float=str, parse_constant=_no_constant, object_pairs_hook=_unique)
    return _plain(tomllib.loads(text, parse_float=str))


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no number that can be used")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _plain(value: object) -> object:
    """TOML's own dates and times as text."""
    match value:
        case dict():
            return {key: _plain(inner) for key, inner in value.items()}
        case list():
            return [_plain(inner) for inner in value]
        case datetime():
            raise ValueError(f"{value.isoformat()}: give session and at, not one time")
        case date():
            return value.isoformat()
        case time():
            return value.isoformat("minutes")
        case _:
            return value


def _read_exact(kind: type, value: object) -> object:
    """A number from its text or a whole number; raises `ValueError`."""
    if kind is not Exact or isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"a number is wanted, found {type(value).__name__}")
    return Exact(value)
