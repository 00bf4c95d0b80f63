"""Orders that wait for an operator: noted at their verdict, gone when refused, used or too many newer ones wait."""

from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from shared.ledger.account_state import Approval
from shared.ledger.state import Run, State
from shared.protocol.envelope import Event
from shared.protocol.events import ApprovalGiven, ApprovalRefused, Decision, ProposalMade, Verdict
from shared.protocol.ids import order_id
from shared.protocol.instants import parse

MAX_WAITING: Final = 500
PROPOSAL: Final = "proposal"


def noted(state: State, event: Event, run: Run, verdict: Verdict) -> State:
    """With the orders of a proposal's verdict that need approval, without the one that was judged afresh: each is used once."""
    if run.approval is not None:
        return without(state, run.approval.order)
    if verdict.kind != PROPOSAL:
        return state
    found = tuple(
        _approval(event, run, verdict, row)
        for row in verdict.decisions
        if row.needs_approval and not row.approved and _is_whole(row)
    )
    if not found:
        return state
    waiting = {**state.approvals, **{row.order: row for row in found}}
    return replace(state, approvals=dict(list(waiting.items())[-MAX_WAITING:]))


def given(state: State, event: Event) -> State:
    """An operator approves: the order awaits its own verdict."""
    found = state.approvals.get(event.expect(ApprovalGiven).order)
    if found is None or found.given is not None:
        return state
    return replace(state, approvals={**state.approvals, found.order: replace(found, given=event)})


def refused(state: State, event: Event) -> State:
    """An operator refuses: nothing more comes of it, unless it is being judged afresh already."""
    found = state.approvals.get(event.expect(ApprovalRefused).order)
    return state if found is None or found.caused is not None else without(state, found.order)


def without(state: State, order: str) -> State:
    """Without an order that was refused, or whose approval was used."""
    return replace(state, approvals={name: row for name, row in state.approvals.items() if name != order})


def is_expired(state: State, found: Approval) -> bool:
    """Whether it waited longer than the policy lets it; without a policy or a time nothing can be approved."""
    if state.policy is None or state.now is None:
        return True
    return parse(state.now) - parse(found.at) > timedelta(seconds=state.policy.policy.limits.approval_ttl_s)


def waiting(state: State) -> tuple[Approval, ...]:
    """What an operator can still approve or refuse, oldest first."""
    return tuple(row for row in state.approvals.values() if row.given is None and not is_expired(state, row))


def _is_whole(row: Decision) -> bool:
    return row.quantity is not None and row.limit is not None


def _approval(event: Event, run: Run, verdict: Verdict, row: Decision) -> Approval:
    """A decision that says "needs approval"."""
    if row.quantity is None or row.limit is None:
        raise ValueError(f"sequence {event.seq}: order {row.index} cannot need approval")
    proposal = run.proposal.expect(ProposalMade) if run.proposal else None
    orders = proposal.orders[row.index - 1 : row.index] if proposal else ()
    return Approval(
        order=order_id(run.id, row.index),
        book=event.book,
        run=run.id,
        symbol=row.symbol,
        currency=row.currency,
        side=row.side,
        quantity=row.quantity,
        limit=row.limit,
        at=event.at,
        policy_hash=verdict.policy_hash,
        exchange=next((order.exchange for order in orders), None),
        untrusted=proposal.untrusted if proposal else False,
    )
