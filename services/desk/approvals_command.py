"""`propdesk approvals`: the orders that wait for an operator."""

from datetime import timedelta

import msgspec

from services.desk.console import show, show_json
from services.desk.folded import folded
from services.desk.layout import Layout
from shared.bus.logs import configure_logs
from shared.ledger.approvals import waiting
from shared.ledger.state import State
from shared.protocol.instants import parse, to_text

NOTHING = "no order waits for approval"


class Waiting(msgspec.Struct, frozen=True):
    """An order that waits, and until when it can be approved."""

    order: str
    book: str
    symbol: str
    currency: str
    side: str
    quantity: str
    limit: str
    at: str
    until: str


def show_approvals(layout: Layout, *, as_json: bool) -> None:
    """Print what waits; raises `DeskError`."""
    configure_logs("desk", "warning")
    found = waiting_of(folded(layout))
    if as_json:
        show_json({"approvals": msgspec.to_builtins(found)})
        return
    for row in found:
        show(f"{row.order}  {row.side} {row.quantity} {row.symbol} at {row.limit} {row.currency}, until {row.until}")
    if not found:
        show(NOTHING)


def waiting_of(state: State) -> tuple[Waiting, ...]:
    """What waits, oldest first."""
    if state.policy is None:
        return ()
    ttl = timedelta(seconds=state.policy.policy.limits.approval_ttl_s)
    return tuple(
        Waiting(
            order=row.order,
            book=row.book,
            symbol=row.symbol,
            currency=row.currency,
            side=row.side,
            quantity=str(row.quantity),
            limit=str(row.limit),
            at=row.at,
            until=to_text(parse(row.at) + ttl),
        )
        for row in waiting(state)
    )
