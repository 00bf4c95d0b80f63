"""Rows of what operators do and of looks at the account, as plain values; see `services.journal.rows`."""

from typing import ClassVar

from services.journal.row import Row


class PolicyRow(Row, frozen=True):
    """A policy since it was adopted; `document` is `PolicyAdopted` as canonical JSON."""

    table: ClassVar[str] = "policies"
    seq: int
    at: str
    policy_hash: str
    reason: str
    document: str


class OperationRow(Row, frozen=True):
    """One thing that an operator (or an alarm) ordered: `type` is the event's, `data` what it says as canonical JSON."""

    table: ClassVar[str] = "operations"
    seq: int
    type: str
    author: str
    book: str
    at: str
    reason: str
    data: str


class ReconciliationRow(Row, frozen=True):
    """One look at the account. `differences` are all lines as JSON, empty if it agrees; `details` is the event as JSON."""

    table: ClassVar[str] = "reconciliations"
    seq: int
    run: str | None
    at: str
    failed: bool
    differences: str
    details: str
