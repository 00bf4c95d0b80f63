"""`propdesk approvals`: the orders that wait for an operator."""

import msgspec

from services.desk.console import show, show_json
from services.desk.folded import folded
from services.desk.layout import Layout
from services.journal.summary import summary
from shared.bus.logs import configure_logs

NOTHING = "no order waits for approval"


def show_approvals(layout: Layout, *, as_json: bool) -> None:
    """Print what waits; raises `DeskError`."""
    configure_logs("desk", "critical")
    found = summary(folded(layout)).approvals
    if as_json:
        show_json({"approvals": msgspec.to_builtins(found, enc_hook=str)})
        return
    for row in found:
        show(f"{row.order}  {row.side} {row.quantity} {row.symbol} at {row.limit} {row.currency}, until {row.until}")
    if not found:
        show(NOTHING)
