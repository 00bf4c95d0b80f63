"""The tables of what operators do and of how the desk stands; see `services.journal.models`."""

from sqlmodel import Field

from services.journal.columns import InstantColumn
from services.journal.models import ReadModel


class Policies(ReadModel, table=True):
    """See `rows.PolicyRow`."""

    __tablename__ = "policies"

    seq: int = Field(primary_key=True)
    at: str = Field(sa_type=InstantColumn)
    policy_hash: str
    reason: str
    document: str


class Operations(ReadModel, table=True):
    """See `rows.OperationRow`."""

    __tablename__ = "operations"

    seq: int = Field(primary_key=True)
    type: str
    author: str
    book: str = Field(index=True)
    at: str = Field(sa_type=InstantColumn)
    reason: str
    data: str


class Reconciliations(ReadModel, table=True):
    """See `rows.ReconciliationRow`."""

    __tablename__ = "reconciliations"

    seq: int = Field(primary_key=True)
    run: str | None
    at: str = Field(sa_type=InstantColumn)
    failed: bool
    differences: str
    details: str


class Desk(ReadModel, table=True):
    """One row: how the desk stands at sequence `seq`, see `summary.DeskSummary`."""

    __tablename__ = "desk"

    id: int = Field(primary_key=True)
    seq: int
    document: str
