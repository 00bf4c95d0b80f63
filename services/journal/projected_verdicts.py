"""Rows of verdicts: decisions, reasons, and the orders that they approve."""

from typing import Final

from services.journal.changes import Change
from services.journal.projected_runs import as_json, at_stage
from services.journal.rows import DecisionRow, OrderRow, ReasonRow, RunStage, VerdictRow
from shared.ledger.state import OrderState
from shared.protocol.envelope import Event
from shared.protocol.events import Decision, Reason, Verdict
from shared.protocol.money import ZERO

WHOLE_BATCH: Final = 0
"""`order_index` of a reason that holds for every order of its verdict."""


def verdict(event: Event) -> list[Change]:
    """The verdict, its decisions and reasons, and the orders it approves."""
    data = event.expect(Verdict)
    approved = sum(decision.approved for decision in data.decisions)
    row = VerdictRow(
        seq=event.seq,
        run=event.run,
        book=event.book,
        kind=data.kind,
        at=event.at,
        approved=approved,
        blocked=len(data.decisions) - approved,
        value=data.value,
        drawdown_pct=data.drawdown_pct,
        policy_hash=data.policy_hash,
        rules=data.rules,
        valid_until=data.valid_until,
    )
    found: list[Change] = [row, *at_stage(event, RunStage.JUDGED), *_reasons(event, WHOLE_BATCH, data.block)]
    for decision in data.decisions:
        found.append(_decision(event, data, decision))
        found.extend(_reasons(event, decision.index, decision.reasons))
        if decision.approved and decision.order is not None:
            found.append(_order(event, decision, decision.order))
    return found


def _decision(event: Event, verdict: Verdict, decision: Decision) -> DecisionRow:
    """The row of one decision; what blocks the whole batch names its first rule if it has no reason of its own."""
    first = () if decision.approved else (*decision.reasons, *verdict.block)
    return DecisionRow(
        seq=event.seq,
        order_index=decision.index,
        run=event.run,
        book=event.book,
        kind=verdict.kind,
        at=event.at,
        symbol=decision.symbol,
        currency=decision.currency,
        side=decision.side,
        quantity=decision.quantity,
        limit_price=decision.limit,
        approved=decision.approved,
        needs_approval=decision.needs_approval,
        notional=decision.notional,
        commission=decision.commission,
        fx=decision.fx,
        largest=decision.largest,
        order_id=decision.order,
        crosses=decision.crosses,
        first_rule=first[0].rule.value if first else None,
        reasons=as_json(decision.reasons),
    )


def _reasons(event: Event, order_index: int, reasons: tuple[Reason, ...]) -> list[Change]:
    """A row per reason."""
    return [
        ReasonRow(
            seq=event.seq,
            order_index=order_index,
            reason_index=position,
            run=event.run,
            book=event.book,
            rule=reason.rule.value,
            limit_value=reason.limit,
            value=reason.value,
            headroom=reason.headroom,
            message=reason.message,
        )
        for position, reason in enumerate(reasons, start=1)
    ]


def _order(event: Event, decision: Decision, order: str) -> OrderRow:
    """The row of an order from its approval on."""
    return OrderRow(
        id=order,
        run=event.run,
        book=event.book,
        order_index=decision.index,
        symbol=decision.symbol,
        currency=decision.currency,
        side=decision.side,
        quantity=decision.quantity,
        limit_price=decision.limit,
        state=OrderState.APPROVED.value,
        filled=ZERO,
        approved_at=event.at,
        seq=event.seq,
    )
