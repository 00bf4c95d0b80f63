"""What the simulator is told: environment variables `PROPDESK_SIMULATOR_*`."""

import os
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, PlainValidator, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from services.simulator.listening import MAX_PORT
from services.simulator.orders import OPENING_CASH, Terms
from shared.protocol.money import Exact

PREFIX: Final = "PROPDESK_SIMULATOR_"
MAX_CASH: Final = Exact(10**15)
MAX_RATE: Final = Exact(10**6)
MAX_DECIMALS: Final = 8
MAX_SPEED: Final = 100_000
ACCELERATED: Final = 1_000
"""Seconds a second: a session of six and a half hours takes 23 s."""
DATA: Final = Path(__file__).parent / "data" / "us-stocks-daily.csv"


class SettingsError(Exception):
    """Settings that are refused, each variable with what was found and what is accepted."""


def _exact(value: object) -> Exact:
    """Decimal text as an exact number; anything else is refused."""
    if isinstance(value, Exact):
        return value
    if not isinstance(value, str):
        raise ValueError(f"must be decimal text, found {type(value).__name__}")
    return Exact(value)


def _within(most: Exact) -> AfterValidator:
    """Positive, at most `most`, at most `MAX_DECIMALS` decimals."""

    def check(value: Exact) -> Exact:
        """Return `value` or raise `ValueError`."""
        exponent = value.as_tuple().exponent
        if not 0 < value <= most or (isinstance(exponent, int) and exponent < -MAX_DECIMALS):
            raise ValueError(f"must be greater than 0, at most {most}, with at most {MAX_DECIMALS} decimals")
        return value

    return AfterValidator(check)


Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
Cash = Annotated[Exact, PlainValidator(_exact), _within(MAX_CASH)]
Rate = Annotated[Exact, PlainValidator(_exact), _within(MAX_RATE)]


class Settings(BaseSettings):
    """Settings of one simulator. `fx` holds base units per unit of a currency: `{"USD": "1.5"}` with AUD as base.

    `port` is the control port. `tws_port` None: no TWS face. `clock`, `speed`, `start` (the first session; default: 60 before the
    last): who moves time. `seed` other than 0: frames are cut at random. `faults`: a file of faults; `frames`: a log.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    dir: Path
    data: Path = DATA
    faults: Path | None = None
    port: Annotated[int, Field(ge=0, le=MAX_PORT)] = 0
    base_currency: Currency = "USD"
    currency: Currency = "USD"
    cash: Cash = OPENING_CASH
    fx: dict[Currency, Rate] = {}
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    tws_port: Annotated[int, Field(ge=0, le=MAX_PORT)] | None = None
    clock: Literal["step", "accelerated", "real"] = "step"
    speed: Annotated[int, Field(ge=1, le=MAX_SPEED)] = ACCELERATED
    start: date | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    scenario: Path | None = None
    frames: Path | None = None
    parent_pid: Annotated[int, Field(ge=1)] | None = None

    @field_validator("*", mode="before")
    @classmethod
    def _not_empty(cls, value: object) -> object:
        """An empty variable is a mistake, not a value."""
        if value == "":
            raise ValueError("is empty: give a value or unset it")
        return value

    @model_validator(mode="after")
    def _rates(self) -> "Settings":
        """The price file's currency needs a rate; that of the base is 1 and is not stated."""
        if self.base_currency in self.fx:
            raise ValueError(f"fx must not name the base currency {self.base_currency}, whose rate is 1")
        if self.currency not in {self.base_currency, *self.fx}:
            raise ValueError(f'fx has no rate for {self.currency}, the price file\'s currency: add {{"{self.currency}": "…"}}')
        return self

    def terms(self) -> Terms:
        """The terms of the account."""
        return Terms(base_currency=self.base_currency, currency=self.currency, cash=self.cash, fx=self.fx)

    @classmethod
    def of(cls, values: dict[str, Any]) -> "Settings":
        """Settings from these values alone, without the environment; raises `ValidationError`."""
        return _Stated(**values)


class _Stated(Settings):
    """Settings that read no environment."""

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource, *_: Any, **__: Any
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what is handed in."""
        return (init_settings,)


def load_settings() -> Settings:
    """Read the environment; raises `SettingsError`, also for a variable with our prefix that means nothing."""
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    unknown = sorted(name for name in os.environ if name.upper().startswith(PREFIX) and name.upper() not in known)
    if unknown:
        raise SettingsError(f"unknown: {', '.join(unknown)}; known: {', '.join(sorted(known))}")
    try:
        return Settings()  # type: ignore[call-arg]
    except ValidationError as error:
        raise SettingsError("; ".join(refusal(dict(fault), _variable) for fault in error.errors())) from error
    except ValueError as error:
        raise SettingsError(f'{error}; {PREFIX}FX is a JSON object such as {{"USD": "1.5"}}') from error


def _variable(place: str) -> str:
    """The variable that a setting comes from."""
    return PREFIX + place.upper() if place else PREFIX + "FX"


def refusal(fault: dict[str, Any], name_of: Callable[[str], str]) -> str:
    """One fault as a sentence, the setting named by `name_of`; values are paths and numbers, never secrets."""
    name = name_of(".".join(str(part) for part in fault["loc"]))
    found = f", found {str(fault['input'])[:40]!a}" if isinstance(fault["input"], str) else ""
    return f"{name}: {fault['msg'].removeprefix('Value error, ')}{found}"
