"""The gate's shell: takes what it owes from the folded log and appends what it decides."""

import structlog
from msgspec.structs import replace

from services.gate.checks import Checks
from services.gate.decisions import AUTHOR, decide
from services.gate.settings import GateSettings
from shared.bus.participant import Participant
from shared.bus.service import Service
from shared.ledger.owed import next_of, owed
from shared.ledger.state import State
from shared.protocol.envelope import Draft

_log = structlog.get_logger(AUTHOR)


async def serve(service: Service[GateSettings]) -> None:
    """Decide for every book until the process is asked to end."""
    participant = service.participant
    checks = Checks(lambda: participant.state, service.rpc, service.settings.quotes_timeout_s)
    await service.rpc.serve("rpc.gate.check", checks.answer)
    while not service.stopping:
        await work(participant)


async def work(participant: Participant[State]) -> None:
    """Append the next event that is owed, or wait for the log to move."""
    draft = next_draft(participant)
    if draft is None:
        await participant.advance()
    elif (event := await participant.append(draft)) is not None:
        _log.info("appended", id=event.id, seq=event.seq)


def next_draft(participant: Participant[State]) -> Draft | None:
    """The next event to append, None if nothing is owed or what it needs is not in the log yet."""
    state = participant.state
    item = next_of(owed(state), AUTHOR)
    draft = None if item is None else decide(state, item)
    return None if draft is None else replace(draft, as_of=participant.cursor)
