"""What an event changes in the read models: new rows, and columns of rows that stand already."""

import msgspec
from msgspec import UNSET, UnsetType

from services.journal.row import Row, Value
from shared.protocol.money import Exact


class RunChange(msgspec.Struct, frozen=True):
    """Columns of a run that change; those left UNSET stay. A run without a row stays without."""

    id: str
    stage: str | UnsetType = UNSET
    value: Exact | UnsetType | None = UNSET
    buys_blocked: str | UnsetType = UNSET
    fault: str | UnsetType = UNSET
    withheld: int | UnsetType = UNSET
    filled: int | UnsetType = UNSET
    unfilled: int | UnsetType = UNSET
    status: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    ended_at: str | UnsetType = UNSET


class OrderChange(msgspec.Struct, frozen=True):
    """Columns of an order that change; those left UNSET stay. An order without a row stays without."""

    id: str
    state: str | UnsetType = UNSET
    filled: Exact | UnsetType = UNSET
    exchange: str | UnsetType = UNSET
    permanent_id: str | UnsetType = UNSET
    intended_at: str | UnsetType = UNSET
    placed_at: str | UnsetType = UNSET
    ended_at: str | UnsetType = UNSET
    ended_as: str | UnsetType = UNSET
    withheld: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    cancel_reason: str | UnsetType = UNSET


class OrderFilled(msgspec.Struct, frozen=True):
    """Shares to add to what the order's row has as filled."""

    id: str
    quantity: Exact


Change = Row | RunChange | OrderChange | OrderFilled


def changed_columns(change: RunChange | OrderChange) -> dict[str, Value]:
    """What the change sets, without its id."""
    return {name: value for name, value in msgspec.structs.asdict(change).items() if value is not UNSET and name != "id"}
