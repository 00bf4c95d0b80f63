"""What happens to an order after its approval, and its fills."""

from services.journal.changes import Change, OrderChange, OrderFilled
from services.journal.rows import FillRow
from shared.ledger.state import OrderState
from shared.protocol.envelope import Event
from shared.protocol.events import CancelOrdered, FillSettled, OrderClosed, OrderIntended, OrderPlaced, OrderWithheld


def order_withheld(event: Event) -> list[Change]:
    """Approved but not sent."""
    data = event.expect(OrderWithheld)
    state = OrderState.WITHHELD.value
    return [OrderChange(data.order, state=state, withheld=data.reason.value, message=data.message, ended_at=event.at)]


def order_intended(event: Event) -> list[Change]:
    """About to be sent."""
    data = event.expect(OrderIntended)
    return [OrderChange(data.order, state=OrderState.INTENDED.value, exchange=data.exchange, intended_at=event.at)]


def order_placed(event: Event) -> list[Change]:
    """The broker has it."""
    data = event.expect(OrderPlaced)
    state = OrderState.WORKING if data.status == "working" else OrderState.DONE
    return [OrderChange(data.order, state=state.value, permanent_id=data.permanent_id, placed_at=event.at)]


def order_closed(event: Event) -> list[Change]:
    """Its end; the quantity filled is the broker's own sum."""
    data = event.expect(OrderClosed)
    return [
        OrderChange(
            data.order,
            state=OrderState.CLOSED.value,
            filled=data.filled,
            ended_at=event.at,
            ended_as=data.end.value,
            message=data.message,
        )
    ]


def cancel_ordered(event: Event) -> list[Change]:
    """An operator wants it cancelled."""
    data = event.expect(CancelOrdered)
    return [OrderChange(data.order, cancel_reason=data.reason)]


def fill_settled(event: Event) -> list[Change]:
    """One execution."""
    data = event.expect(FillSettled)
    row = FillRow(
        seq=event.seq,
        execution=data.execution,
        order_id=data.order,
        run=event.run,
        book=event.book,
        at=event.at,
        symbol=data.symbol,
        currency=data.currency,
        side=data.side.value,
        quantity=data.quantity,
        price=data.price,
        fee=data.fee.amount,
        fee_currency=data.fee.currency,
        fx=data.fx,
        cash_effect=data.cash_effect,
    )
    return [row, OrderFilled(data.order, data.quantity)]
