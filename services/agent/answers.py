"""What the log keeps of a source's answer: texts within bounds, numbers in one form, or the fault that forbids it. Pure."""

from typing import Final

from msgspec.structs import replace

from services.agent.sources.port import NOT_NUMBERS, Fault, Proposal, is_stable
from shared.protocol.envelope import canonical, clean_text
from shared.protocol.events import MAX_EVENT_BYTES, MAX_TEXT_CHARS, ProposalMade, SourceFailed
from shared.protocol.ids import MAX_ORDERS
from shared.protocol.market import ProposedOrder
from shared.protocol.money import NumberError, parse_number, plain
from shared.protocol.reasons import SourceFault

MAX_REASON_CHARS: Final = 500
ENVELOPE_BYTES: Final = 4096
MAX_PROPOSAL_BYTES: Final = MAX_EVENT_BYTES - ENVELOPE_BYTES


def answer_of(source: str, outcome: Proposal | Fault) -> ProposalMade | SourceFailed:
    """The event data of an answer; one that cannot stand in the log is the source's fault, never cut down to what fits."""
    if isinstance(outcome, Fault):
        return _failed(outcome.kind, outcome.message)
    if len(outcome.orders) > MAX_ORDERS:
        return _failed(SourceFault.TOO_MANY_ORDERS, f"{len(outcome.orders)} orders; a proposal has at most {MAX_ORDERS}")
    try:
        orders = tuple(_order(index, order) for index, order in enumerate(outcome.orders, start=1))
    except NumberError as error:
        return _failed(SourceFault.INVALID, str(error))
    made = ProposalMade(source, orders, clean_text(outcome.summary, MAX_TEXT_CHARS), outcome.stop_reason)
    if (size := len(canonical(made))) > MAX_PROPOSAL_BYTES:
        return _failed(SourceFault.INVALID, f"the proposal has {size} bytes; at most {MAX_PROPOSAL_BYTES} are kept")
    return made


def _failed(kind: SourceFault, message: str) -> SourceFailed:
    """A fault, its message within bounds."""
    return SourceFailed(kind, clean_text(message, MAX_TEXT_CHARS))


def _order(index: int, order: ProposedOrder) -> ProposedOrder:
    """An order as the log keeps it; raises `NumberError` naming what it cannot keep."""
    for name in (order.symbol, order.currency, order.side, order.exchange or ""):
        if not is_stable(name):
            raise NumberError(
                f"order {index}: {name[:40]!a} is longer than 32 characters, holds control characters or is not NFC"
            )
    return replace(
        order,
        quantity=_number(index, "quantity", order.quantity),
        limit=_number(index, "limit", order.limit),
        confidence=_number(index, "confidence", order.confidence),
        reason=clean_text(order.reason, MAX_REASON_CHARS),
    )


def _number(index: int, field: str, text: str | None) -> str | None:
    """Decimal text in canonical form, `NaN`, `Infinity`, `-Infinity` or None; raises `NumberError`."""
    if text is None or text in NOT_NUMBERS:
        return text
    try:
        return plain(parse_number(text))
    except NumberError as error:
        raise NumberError(f"order {index}: {field}: {error}") from error
