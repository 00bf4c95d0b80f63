"""A verdict that fits into an event, however many orders a proposal has and whatever they say."""

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from shared.protocol.envelope import canonical
from shared.protocol.events import MAX_EVENT_BYTES, Decision, Verdict

ENVELOPE_BYTES: Final = 2_000
"""Room for what stands around the data."""
MAX_VERDICT_BYTES: Final = MAX_EVENT_BYTES - ENVELOPE_BYTES
SHORT_MESSAGE_CHARS: Final = 60
SHORT_TEXT_CHARS: Final = 8

Shortening = Callable[[Decision], Decision]


def fitted(verdict: Verdict) -> Verdict:
    """`verdict`, with as much of its reasons as fits: messages go first, then all but the first reason of an order.

    Approvals, quantities, numbers and `largest` always stay.
    """
    for shorten in _STEPS:
        found = replace(verdict, decisions=tuple(shorten(decision) for decision in verdict.decisions))
        if len(canonical(found)) <= MAX_VERDICT_BYTES:
            return found
    raise ValueError(f"a verdict on {len(verdict.decisions)} orders does not fit into {MAX_VERDICT_BYTES} bytes")


def _as_it_is(decision: Decision) -> Decision:
    return decision


def _short_messages(decision: Decision) -> Decision:
    reasons = tuple(replace(reason, message=reason.message[:SHORT_MESSAGE_CHARS]) for reason in decision.reasons)
    return replace(decision, reasons=reasons)


def _no_messages(decision: Decision) -> Decision:
    return replace(decision, reasons=tuple(replace(reason, message="") for reason in decision.reasons))


def _first_reason(decision: Decision) -> Decision:
    return replace(decision, reasons=_no_messages(decision).reasons[:1])


def _short_texts(decision: Decision) -> Decision:
    if decision.approved or decision.needs_approval:
        return _first_reason(decision)
    texts = {name: getattr(decision, name)[:SHORT_TEXT_CHARS] for name in ("symbol", "currency", "side")}
    return replace(_first_reason(decision), **texts)


_STEPS: Final[tuple[Shortening, ...]] = (_as_it_is, _short_messages, _no_messages, _first_reason, _short_texts)
