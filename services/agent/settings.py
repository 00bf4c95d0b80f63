"""What the agent is told by whoever starts it."""

from pydantic import Field

from shared.bus.settings import ServiceSettings


class AgentSettings(ServiceSettings):
    """`history_timeout_s` bounds one request for past prices, `history_pause_s` lies between two; both only delay a run."""

    history_timeout_s: float = Field(default=10.0, gt=0, le=300)
    history_pause_s: float = Field(default=0.25, gt=0, le=60)
