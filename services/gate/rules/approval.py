"""Does a person have to agree? Such an order is neither sent nor counted."""

from services.gate.batch import Batch
from services.gate.candidate import Candidate
from services.gate.numbers import amount
from services.gate.rules.reasons import reason
from shared.protocol.events import Reason
from shared.protocol.reasons import Rule


def denied(order: Candidate, batch: Batch) -> Reason | None:
    """A BUY of a proposal with the mark, where the policy denies those."""
    if batch.untrusted and order.buys and batch.limits.untrusted == "deny":
        return reason(Rule.UNTRUSTED, "the proposal carries the mark untrusted, and the policy denies its BUYs")
    return None


def needed(order: Candidate, batch: Batch) -> tuple[Reason, ...]:
    """Why an order that passes all rules needs approval, empty if it does not."""
    return tuple(why for why in (_approval(order, batch), _untrusted(order, batch)) if why is not None)


def _approval(order: Candidate, batch: Batch) -> Reason | None:
    """An order worth more than the policy lets pass without a person."""
    above, worth = batch.limits.approval_above, order.notional
    if above is None or worth is None or worth <= above:
        return None
    told = f"worth {amount(worth)} {batch.policy.base_currency}: needs approval above {above}"
    return reason(Rule.APPROVAL, told, above, worth)


def _untrusted(order: Candidate, batch: Batch) -> Reason | None:
    """A BUY of a proposal with the mark, where the policy asks for approval of those."""
    if batch.untrusted and order.buys and batch.limits.untrusted == "approve":
        return reason(Rule.UNTRUSTED, "the proposal carries the mark untrusted: its BUYs need approval")
    return None
