"""The rows of the read models, as plain values.

A row has the columns of its table in `services.journal.models`, in the same order; queries return the same rows. Amounts are
exact, times canonical text, lists of structures canonical JSON text. `seq` is the sequence of the event that made the row.
"""

from enum import StrEnum
from typing import ClassVar, Final

import msgspec

from services.journal.desk_rows import OperationRow, PolicyRow, ReconciliationRow
from services.journal.row import Row, Value
from shared.protocol.money import Exact


class RunStage(StrEnum):
    """How far a run has come."""

    STARTED = "started"
    CLEARED = "cleared"
    STOPPED = "stopped"
    PROPOSED = "proposed"
    FAILED = "failed"
    JUDGED = "judged"
    SETTLED = "settled"
    ENDED = "ended"


class EventRow(Row, frozen=True):
    """The index of the log: every event has one. `sha256` is that of the stored payload."""

    table: ClassVar[str] = "events"
    seq: int
    id: str
    type: str
    author: str
    book: str
    run: str | None
    at: str
    sha256: str


class DroppedRow(Row, frozen=True):
    """A stored message that is no fact, and why: nobody signed it who may, it fits no type, or it is a repeat."""

    table: ClassVar[str] = "dropped"
    seq: int
    subject: str
    id: str
    why: str


class BookRow(Row, frozen=True):
    """A book since it was opened."""

    table: ClassVar[str] = "books"
    book: str
    source: str
    currency: str
    opened_at: str
    seq: int


class DepositRow(Row, frozen=True):
    """One deposit in base currency, or with a negative amount a withdrawal or what was left in a book at its end."""

    table: ClassVar[str] = "deposits"
    seq: int
    book: str
    at: str
    amount: Exact
    reason: str


class RunRow(Row, frozen=True):
    """A run. `status` (its kind if the desk caused it) and `ended_at` are None until it ended; the counts, of approved orders by
    their end, until it settled. `value` is what it was cleared with, `buys_blocked` a JSON list of the rules that block buying.
    A run of mode `dry` has no other rows: what it proposed and was told stands in the log alone.
    """

    table: ClassVar[str] = "runs"
    id: str
    book: str
    source: str
    slot: str
    session: str
    started_at: str
    seq: int
    stage: str
    mode: str = "sim"
    model: str | None = None
    prompt_version: str | None = None
    value: Exact | None = None
    buys_blocked: str | None = None
    fault: str | None = None
    withheld: int | None = None
    filled: int | None = None
    unfilled: int | None = None
    status: str | None = None
    message: str | None = None
    ended_at: str | None = None


class ProposalRow(Row, frozen=True):
    """A proposal. `orders` is the JSON list of what was proposed, word for word."""

    table: ClassVar[str] = "proposals"
    seq: int
    run: str | None
    book: str
    source: str
    at: str
    order_count: int
    orders: str
    summary: str
    stop_reason: str
    cost: Exact | None
    cost_currency: str | None
    transcript: str | None
    untrusted: bool


class VerdictRow(Row, frozen=True):
    """A verdict with its number of approved and of other orders."""

    table: ClassVar[str] = "verdicts"
    seq: int
    run: str | None
    book: str
    kind: str
    at: str
    approved: int
    blocked: int
    value: Exact | None
    drawdown_pct: Exact | None
    policy_hash: str
    rules: str
    valid_until: str


class DecisionRow(Row, frozen=True):
    """The judgement of one proposed order. `first_rule` is the first rule that blocks it, `reasons` the JSON list of all."""

    table: ClassVar[str] = "decisions"
    seq: int
    order_index: int
    run: str | None
    book: str
    kind: str
    at: str
    symbol: str
    currency: str
    side: str
    quantity: Exact | None
    limit_price: Exact | None
    approved: bool
    needs_approval: bool
    notional: Exact | None
    commission: Exact | None
    fx: Exact | None
    largest: Exact | None
    order_id: str | None
    crosses: str | None
    first_rule: str | None
    reasons: str


class ReasonRow(Row, frozen=True):
    """One reason of a decision; `order_index` 0 holds for the whole batch. `reason_index` counts from 1."""

    table: ClassVar[str] = "reasons"
    seq: int
    order_index: int
    reason_index: int
    run: str | None
    book: str
    rule: str
    limit_value: Exact | None
    value: Exact | None
    headroom: Exact | None
    message: str


class OrderRow(Row, frozen=True):
    """An approved order and its life. `state` as in the ledger; `ended_as` is how it ended at the broker, `withheld` why it
    was never sent, `message` the words that came with either.
    """

    table: ClassVar[str] = "orders"
    id: str
    run: str | None
    book: str
    order_index: int
    symbol: str
    currency: str
    side: str
    quantity: Exact | None
    limit_price: Exact | None
    state: str
    filled: Exact
    approved_at: str
    seq: int
    exchange: str | None = None
    permanent_id: str | None = None
    intended_at: str | None = None
    placed_at: str | None = None
    ended_at: str | None = None
    ended_as: str | None = None
    withheld: str | None = None
    message: str | None = None
    cancel_reason: str | None = None


class FillRow(Row, frozen=True):
    """One execution. `fx`: base per unit of the currency; `cash_effect` in base, negative for a BUY."""

    table: ClassVar[str] = "fills"
    seq: int
    execution: str
    order_id: str
    run: str | None
    book: str
    at: str
    symbol: str
    currency: str
    side: str
    quantity: Exact
    price: Exact
    fee: Exact
    fee_currency: str
    fx: Exact
    cash_effect: Exact


class ValuationRow(Row, frozen=True):
    """A book at one time; `holdings` is a JSON list, `used_month` and `used_day` the orders used."""

    table: ClassVar[str] = "valuations"
    seq: int
    book: str
    run: str | None
    purpose: str
    at: str
    cash: Exact
    value: Exact | None
    peak: Exact
    previous: Exact | None
    drawdown_pct: Exact | None
    used_month: int
    used_day: int
    holdings: str


ROW_TYPES: Final[tuple[type[Row], ...]] = (
    EventRow,
    DroppedRow,
    BookRow,
    DepositRow,
    PolicyRow,
    OperationRow,
    ReconciliationRow,
    RunRow,
    ProposalRow,
    VerdictRow,
    DecisionRow,
    ReasonRow,
    OrderRow,
    FillRow,
    ValuationRow,
)


def columns(row: Row) -> dict[str, Value]:
    """The row by column."""
    return msgspec.structs.asdict(row)
