"""Rows of what operators do: books and their money, policies, halts and the rest; and of looks at the account."""

from collections.abc import Callable
from typing import Final

from services.journal.changes import Change
from services.journal.desk_rows import OperationRow, PolicyRow, ReconciliationRow
from services.journal.projected_orders import cancel_ordered
from services.journal.projected_runs import as_json
from services.journal.rows import BookRow, DepositRow
from shared.protocol.envelope import Event
from shared.protocol.events import (
    AccountReconciled,
    BookClosed,
    BookOpened,
    CashDeposited,
    CashWithdrawn,
    HaltTripped,
    PolicyAdopted,
    ReconciliationFailed,
)
from shared.protocol.money import Exact


def book_opened(event: Event) -> list[Change]:
    """A book begins."""
    opened = event.expect(BookOpened)
    return [BookRow(event.book, opened.source, opened.currency, event.at, event.seq)]


def cash_deposited(event: Event) -> list[Change]:
    """Money into a book."""
    data = event.expect(CashDeposited)
    return [_flow(event, data.amount, data.reason), *operation(event)]


def cash_withdrawn(event: Event) -> list[Change]:
    """Money out of a book."""
    data = event.expect(CashWithdrawn)
    return [_flow(event, Exact(-data.amount), data.reason), *operation(event)]


def book_closed(event: Event) -> list[Change]:
    """A book's end, with what was left in it."""
    data = event.expect(BookClosed)
    return [_flow(event, Exact(-data.amount), data.reason), *operation(event)]


def _flow(event: Event, amount: Exact, reason: str) -> DepositRow:
    return DepositRow(event.seq, event.book, event.at, amount, reason)


def policy_adopted(event: Event) -> list[Change]:
    """A policy comes into force."""
    data = event.expect(PolicyAdopted)
    return [PolicyRow(event.seq, event.at, data.policy_hash, data.reason, as_json(data))]


def operation(event: Event) -> list[Change]:
    """What was ordered, and why."""
    data = event.data
    reason = data.message if isinstance(data, HaltTripped) else getattr(data, "reason", "")
    return [OperationRow(event.seq, event.type, event.author, event.book, event.at, reason, as_json(data))]


def cancelled(event: Event) -> list[Change]:
    """An order is to be cancelled."""
    return [*cancel_ordered(event), *operation(event)]


def looked(event: Event) -> list[Change]:
    """The account agrees, or what differs."""
    data = event.data
    failed = isinstance(data, ReconciliationFailed)
    differences = data.differences if isinstance(data, ReconciliationFailed) else ()
    if not failed and not isinstance(data, AccountReconciled):
        return []
    return [ReconciliationRow(event.seq, event.run, event.at, failed, as_json(differences), as_json(data))]


PROJECTIONS: Final[dict[str, Callable[[Event], list[Change]]]] = {
    "BookOpened": book_opened,
    "CashDeposited": cash_deposited,
    "CashWithdrawn": cash_withdrawn,
    "BookClosed": book_closed,
    "PolicyAdopted": policy_adopted,
    "CancelOrdered": cancelled,
    "AccountReconciled": looked,
    "ReconciliationFailed": looked,
    **dict.fromkeys(("SourcePaused", "SourceResumed", "AccountBaselined", "AdjustmentBooked"), operation),
    **dict.fromkeys(("HaltOrdered", "HaltTripped", "HaltReset", "FlattenOrdered"), operation),
    **dict.fromkeys(("ApprovalGiven", "ApprovalRefused"), operation),
}
