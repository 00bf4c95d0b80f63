"""What the executor is told, in environment variables `PROPDESK_*`."""

from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator

from shared.bus.settings import ServiceSettings

PORT_FILE: Final = "PROPDESK_SIMULATOR_PORT_FILE"


def _stated(value: object) -> object:
    """Refuse an empty variable, which would be the present folder as a path."""
    if value == "":
        raise ValueError("is empty: name the file in which the simulator writes its port (<dir>/broker/port)")
    return value


class Settings(ServiceSettings):
    """`simulator_port_file` holds the simulator's port, read anew at each connect. `mode`: there is only simulated trading.

    `gateway_port_file`: trade over the simulator's TWS port, which stands in it, instead of over JSON lines.
    """

    simulator_port_file: Annotated[Path, BeforeValidator(_stated)]
    gateway_port_file: Annotated[Path | None, BeforeValidator(_stated)] = None
    mode: Literal["sim"] = "sim"
