"""What a source and its run say."""

from shared.protocol.facts.base import Data
from shared.protocol.instants import Day, Instant
from shared.protocol.market import ProposedOrder
from shared.protocol.money import Money
from shared.protocol.reasons import RunStatus, SourceFault, StopReason


class RunStarted(Data, frozen=True):
    """A slot is due: the source asks for a decision; `names` are the instrument keys it wants priced."""

    source: str
    slot: Instant
    session: Day
    names: tuple[str, ...]
    model: str | None = None
    prompt_version: str | None = None


class ProposalMade(Data, frozen=True):
    """What a source proposes; no orders is a decision too."""

    source: str
    orders: tuple[ProposedOrder, ...]
    summary: str
    stop_reason: StopReason
    cost: Money | None = None
    transcript: str | None = None
    untrusted: bool = False


class SourceFailed(Data, frozen=True):
    """A fault of the source; never a hold."""

    kind: SourceFault
    message: str


class RunEnded(Data, frozen=True):
    """The run's final status."""

    status: RunStatus
    message: str
