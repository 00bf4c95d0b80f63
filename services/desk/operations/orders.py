"""Commands about one order: cancel it, or let one that needs approval be judged afresh or not at all."""

from services.desk.operations.base import CommandRefused, Operation, OrderId, Tools, about_request, names
from services.desk.tally import DeskState
from shared.ledger.account_state import Approval
from shared.ledger.approvals import is_expired, waiting
from shared.ledger.fold import find_order
from shared.protocol.envelope import Draft
from shared.protocol.events import ApprovalGiven, ApprovalRefused, CancelOrdered, EventData
from shared.protocol.ids import DESK_BOOK


class Cancel(Operation, frozen=True, tag="cancel"):
    """Cancel one order."""

    order: OrderId

    def draft(self, state: DeskState, tools: Tools) -> Draft:
        """`CancelOrdered`; refused for an order that is unknown or has ended."""
        found = find_order(state.ledger, self.order)
        if found is None or not found.state.is_open:
            raise _no_order(state, self.order)
        return about_request(state, DESK_BOOK, self.request, CancelOrdered(self.order, self.reason))

    def is_said_by(self, book: str, data: EventData) -> bool:
        """Same order and reason."""
        return data == CancelOrdered(self.order, self.reason)

    def told(self) -> str:
        """The order."""
        return f"{self.order} is to be cancelled"


class Approve(Operation, frozen=True, tag="approve"):
    """Let the gate judge afresh an order that needs approval."""

    order: OrderId

    def draft(self, state: DeskState, tools: Tools) -> Draft:
        """`ApprovalGiven`; once, and while the order waits."""
        found = _waiting(state, self.order)
        return about_request(state, found.book, self.request, ApprovalGiven(self.order, self.reason))

    def is_said_by(self, book: str, data: EventData) -> bool:
        """Same order and reason."""
        return data == ApprovalGiven(self.order, self.reason)

    def told(self) -> str:
        """The order."""
        return f"{self.order} is approved: it is judged afresh, on new prices"


class Refuse(Operation, frozen=True, tag="refuse"):
    """Let an order that needs approval be."""

    order: OrderId

    def draft(self, state: DeskState, tools: Tools) -> Draft:
        """`ApprovalRefused`; once, and while the order waits."""
        found = _waiting(state, self.order)
        return about_request(state, found.book, self.request, ApprovalRefused(self.order, self.reason))

    def is_said_by(self, book: str, data: EventData) -> bool:
        """Same order and reason."""
        return data == ApprovalRefused(self.order, self.reason)

    def told(self) -> str:
        """The order."""
        return f"{self.order} is refused: it will not be sent"


def _no_order(state: DeskState, order: str) -> CommandRefused:
    """Why an order cannot be cancelled."""
    end = state.tally.ended.get(order)
    if end is not None:
        return CommandRefused("order_ended", f"order {order} has ended already: {end}")
    return CommandRefused("unknown_order", f"no order {order} in the ledger: `propdesk status` lists the open ones")


def _waiting(state: DeskState, order: str) -> Approval:
    """An order that waits for an operator; raises `CommandRefused` for any other."""
    found = state.ledger.approvals.get(order)
    if found is None:
        known = names([row.order for row in waiting(state.ledger)]) or "none"
        raise CommandRefused("unknown_order", f"no order {order} waits for approval; waiting: {known}")
    if found.given is not None:
        raise CommandRefused("answered", f"order {order} is approved already (sequence {found.given.seq})")
    if is_expired(state.ledger, found):
        raise CommandRefused("expired", f"order {order} waited since {found.at}, which is too long by the policy")
    return found
