"""What the gate is told by whoever starts it."""

from pydantic import Field

from shared.bus.settings import ServiceSettings


class GateSettings(ServiceSettings):
    """`quotes_timeout_s` bounds one request for quotes when a check is asked for."""

    quotes_timeout_s: float = Field(default=10.0, gt=0, le=60)
