"""The tables of the read models.

They do not validate: what is written comes from events, which do. A table has the columns of its row type in
`services.journal.rows`. Importing this module costs half a second.
"""

from sqlalchemy import MetaData
from sqlmodel import Field, SQLModel

from services.journal.columns import ExactColumn, InstantColumn
from shared.protocol.money import Exact


class ReadModel(SQLModel):
    """Base of the tables, with metadata of its own."""

    metadata = MetaData()
    model_config = {"arbitrary_types_allowed": True}


class Meta(ReadModel, table=True):
    """One row: the schema, and the last event whose rows are written, with its hash."""

    __tablename__ = "meta"

    id: int = Field(primary_key=True)
    schema_version: str
    cursor: int
    sha256: str


class Events(ReadModel, table=True):
    """See `rows.EventRow`."""

    __tablename__ = "events"

    seq: int = Field(primary_key=True)
    id: str = Field(index=True)
    type: str
    author: str
    book: str
    run: str | None = Field(index=True)
    at: str = Field(sa_type=InstantColumn)
    sha256: str


class Dropped(ReadModel, table=True):
    """See `rows.DroppedRow`."""

    __tablename__ = "dropped"

    seq: int = Field(primary_key=True)
    subject: str
    id: str
    why: str


class Books(ReadModel, table=True):
    """See `rows.BookRow`."""

    __tablename__ = "books"

    book: str = Field(primary_key=True)
    source: str
    currency: str
    opened_at: str = Field(sa_type=InstantColumn)
    seq: int


class Deposits(ReadModel, table=True):
    """See `rows.DepositRow`."""

    __tablename__ = "deposits"

    seq: int = Field(primary_key=True)
    book: str
    at: str = Field(sa_type=InstantColumn)
    amount: Exact = Field(sa_type=ExactColumn)
    reason: str


class Runs(ReadModel, table=True):
    """See `rows.RunRow`."""

    __tablename__ = "runs"

    id: str = Field(primary_key=True)
    book: str
    source: str
    slot: str = Field(sa_type=InstantColumn)
    session: str
    started_at: str = Field(sa_type=InstantColumn)
    seq: int = Field(index=True)
    stage: str
    mode: str
    model: str | None
    prompt_version: str | None
    value: Exact | None = Field(sa_type=ExactColumn)
    buys_blocked: str | None
    fault: str | None
    withheld: int | None
    filled: int | None
    unfilled: int | None
    status: str | None
    message: str | None
    ended_at: str | None = Field(sa_type=InstantColumn)


class Proposals(ReadModel, table=True):
    """See `rows.ProposalRow`."""

    __tablename__ = "proposals"

    seq: int = Field(primary_key=True)
    run: str | None = Field(index=True)
    book: str
    source: str
    at: str = Field(sa_type=InstantColumn)
    order_count: int
    orders: str
    summary: str
    stop_reason: str
    cost: Exact | None = Field(sa_type=ExactColumn)
    cost_currency: str | None
    transcript: str | None
    untrusted: bool


class Verdicts(ReadModel, table=True):
    """See `rows.VerdictRow`."""

    __tablename__ = "verdicts"

    seq: int = Field(primary_key=True)
    run: str | None = Field(index=True)
    book: str
    kind: str
    at: str = Field(sa_type=InstantColumn)
    approved: int
    blocked: int
    value: Exact | None = Field(sa_type=ExactColumn)
    drawdown_pct: Exact | None = Field(sa_type=ExactColumn)
    policy_hash: str
    rules: str
    valid_until: str = Field(sa_type=InstantColumn)


class Decisions(ReadModel, table=True):
    """See `rows.DecisionRow`."""

    __tablename__ = "decisions"

    seq: int = Field(primary_key=True)
    order_index: int = Field(primary_key=True)
    run: str | None = Field(index=True)
    book: str
    kind: str
    at: str = Field(sa_type=InstantColumn)
    symbol: str
    currency: str
    side: str
    quantity: Exact | None = Field(sa_type=ExactColumn)
    limit_price: Exact | None = Field(sa_type=ExactColumn)
    approved: bool
    needs_approval: bool
    notional: Exact | None = Field(sa_type=ExactColumn)
    commission: Exact | None = Field(sa_type=ExactColumn)
    fx: Exact | None = Field(sa_type=ExactColumn)
    largest: Exact | None = Field(sa_type=ExactColumn)
    order_id: str | None
    crosses: str | None
    first_rule: str | None
    reasons: str


class Reasons(ReadModel, table=True):
    """See `rows.ReasonRow`."""

    __tablename__ = "reasons"

    seq: int = Field(primary_key=True)
    order_index: int = Field(primary_key=True)
    reason_index: int = Field(primary_key=True)
    run: str | None
    book: str
    rule: str
    limit_value: Exact | None = Field(sa_type=ExactColumn)
    value: Exact | None = Field(sa_type=ExactColumn)
    headroom: Exact | None = Field(sa_type=ExactColumn)
    message: str


class Orders(ReadModel, table=True):
    """See `rows.OrderRow`."""

    __tablename__ = "orders"

    id: str = Field(primary_key=True)
    run: str | None = Field(index=True)
    book: str
    order_index: int
    symbol: str
    currency: str
    side: str
    quantity: Exact | None = Field(sa_type=ExactColumn)
    limit_price: Exact | None = Field(sa_type=ExactColumn)
    state: str
    filled: Exact = Field(sa_type=ExactColumn)
    approved_at: str = Field(sa_type=InstantColumn)
    seq: int
    exchange: str | None
    permanent_id: str | None
    intended_at: str | None = Field(sa_type=InstantColumn)
    placed_at: str | None = Field(sa_type=InstantColumn)
    ended_at: str | None = Field(sa_type=InstantColumn)
    ended_as: str | None
    withheld: str | None
    message: str | None
    cancel_reason: str | None


class Fills(ReadModel, table=True):
    """See `rows.FillRow`."""

    __tablename__ = "fills"

    seq: int = Field(primary_key=True)
    execution: str
    order_id: str = Field(index=True)
    run: str | None
    book: str
    at: str = Field(sa_type=InstantColumn)
    symbol: str
    currency: str
    side: str
    quantity: Exact = Field(sa_type=ExactColumn)
    price: Exact = Field(sa_type=ExactColumn)
    fee: Exact = Field(sa_type=ExactColumn)
    fee_currency: str
    fx: Exact = Field(sa_type=ExactColumn)
    cash_effect: Exact = Field(sa_type=ExactColumn)


class Valuations(ReadModel, table=True):
    """See `rows.ValuationRow`."""

    __tablename__ = "valuations"

    seq: int = Field(primary_key=True)
    book: str
    run: str | None
    purpose: str
    at: str = Field(sa_type=InstantColumn)
    cash: Exact = Field(sa_type=ExactColumn)
    value: Exact | None = Field(sa_type=ExactColumn)
    peak: Exact = Field(sa_type=ExactColumn)
    previous: Exact | None = Field(sa_type=ExactColumn)
    drawdown_pct: Exact | None = Field(sa_type=ExactColumn)
    used_month: int
    used_day: int
    holdings: str
