"""Changes of consecutive events, gathered until they are written together. Plain values; no I/O."""

from typing import TypeVar

from services.journal.changes import Change, OrderChange, OrderFilled, RunChange, changed_columns
from services.journal.projection import changes, index_row
from services.journal.row import Row, Value
from services.journal.rows import BookRow, DroppedRow, EventRow, OrderRow, RunRow, columns
from shared.bus.ports import Stored
from shared.protocol.envelope import EnvelopeError, Event, clean_text, sha256_hex
from shared.protocol.events import MAX_TEXT_CHARS
from shared.protocol.money import Exact, wide_context

Columns = dict[str, Value]
K = TypeVar("K", BookRow, RunRow, OrderRow)


class Batch:
    """Rows to insert and columns to change, per table, of the events behind `after`, up to `cursor`.

    Rows that live (books, runs, orders) stand by id, so that a change of a row of the same batch costs no statement. `added`
    are shares by order, to be added to what the database has. `desk` is how the desk stands at the cursor, if that is known.
    `unreadable` names events whose data does not fit their type:
    they stand in the index alone.
    """

    def __init__(self, after: int) -> None:
        """An empty batch behind the event `after`."""
        self.after = self.cursor = after
        self.sha256: str | None = None
        self.events = 0
        self.unreadable: list[str] = []
        self.rows: dict[type[Row], list[Columns]] = {}
        self.living: dict[type[Row], dict[str, Columns]] = {BookRow: {}, RunRow: {}, OrderRow: {}}
        self.changed: dict[type[Row], dict[str, Columns]] = {RunRow: {}, OrderRow: {}}
        self.added: dict[str, Exact] = {}
        self.desk: str | None = None

    def add(self, event: Event) -> bool:
        """Gather what `event` writes; an event at or before the cursor is skipped and gives False.

        Sequences may be missing: what the bus drops is no event. That nothing else is missing is for the bus to prove.
        """
        if event.seq <= self.cursor:
            return False
        row = index_row(event)
        self.rows.setdefault(EventRow, []).append(columns(row))
        try:
            for change in changes(event):
                self._gather(change)
        except EnvelopeError as error:
            self.unreadable.append(f"sequence {event.seq}, {event.id}: {error}")
        self.cursor, self.sha256 = event.seq, row.sha256
        self.events += 1
        return True

    def drop(self, stored: Stored, why: str) -> bool:
        """Gather a message that is no event; False if it stands at or before the cursor."""
        if stored.seq <= self.cursor:
            return False
        row = DroppedRow(stored.seq, stored.subject, clean_text(stored.msg_id, MAX_TEXT_CHARS), clean_text(why, MAX_TEXT_CHARS))
        self.rows.setdefault(DroppedRow, []).append(columns(row))
        self.cursor, self.sha256 = stored.seq, sha256_hex(stored.payload)
        self.events += 1
        return True

    def _gather(self, change: Change) -> None:
        """Put one change where it belongs."""
        match change:
            case OrderChange():
                self._change(OrderRow, change.id, changed_columns(change))
            case RunChange():
                self._change(RunRow, change.id, changed_columns(change))
            case OrderFilled():
                self._add_filled(change)
            case BookRow():
                self.living[BookRow].setdefault(change.book, columns(change))
            case RunRow() | OrderRow():
                self.living[type(change)].setdefault(change.id, columns(change))
            case _:
                self.rows.setdefault(type(change), []).append(columns(change))

    def _change(self, kind: type[Row], key: str, values: Columns) -> None:
        """Change a row of this batch, or remember the change for one in the database."""
        row = self.living[kind].get(key)
        if row is None:
            row = self.changed[kind].setdefault(key, {})
        row.update(values)
        if kind is OrderRow and "filled" in values:
            self.added.pop(key, None)

    def _add_filled(self, fill: OrderFilled) -> None:
        """Add shares to the number known in this batch, else to that of the database."""
        row = self.living[OrderRow].get(fill.id) or self.changed[OrderRow].get(fill.id, {})
        known = row.get("filled")
        with wide_context():
            if isinstance(known, Exact):
                row["filled"] = Exact(known + fill.quantity)
            else:
                self.added[fill.id] = Exact(self.added.get(fill.id, Exact(0)) + fill.quantity)
