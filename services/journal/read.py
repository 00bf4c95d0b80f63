"""What the read models say: queries for `propdesk status`, for reports and pages. They never write.

Importing this module costs half a second (SQLModel): do it in the command or page that needs it.
"""

import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

import msgspec
from sqlalchemy import ColumnElement, Connection, Engine, Select, create_engine, func, inspect, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from services.journal.desk_rows import OperationRow, PolicyRow, ReconciliationRow
from services.journal.row import Row
from services.journal.rows import (
    BookRow,
    DecisionRow,
    DepositRow,
    DroppedRow,
    EventRow,
    FillRow,
    OrderRow,
    ReasonRow,
    RunRow,
    ValuationRow,
)
from services.journal.schema import DESK, META, SCHEMA_VERSION, TABLE_OF
from services.journal.summary import DeskSummary, from_text
from shared.protocol.money import ZERO, Exact, wide_context

MAX_ROWS: Final = 10_000
"""The most rows that one query returns unless it is asked for another number."""

R = TypeVar("R", bound=Row)


class ReadModelsUnavailable(Exception):
    """There is nothing to query: no database, an unreadable one, or one of another build; the message says what to do."""


class Counts(msgspec.Struct, frozen=True):
    """Orders of one book. `proposed` = approved + blocked, `approved` includes later withheld, `filled` in whole or part."""

    proposed: int = 0
    approved: int = 0
    blocked: int = 0
    withheld: int = 0
    filled: int = 0


class Blocked(msgspec.Struct, frozen=True):
    """How many orders of a book a rule has blocked, alone or with others."""

    book: str
    rule: str
    orders: int


def _connect(path: Path) -> sqlite3.Connection:
    """Open for reading only."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


class ReadModels:
    """A database opened read-only. Every query sees one moment, but two queries may see two."""

    def __init__(self, path: Path) -> None:
        """Open `path`; raises `ReadModelsUnavailable` if it is absent, unreadable or of another schema version."""
        if not path.is_file():
            raise ReadModelsUnavailable(f"no read models at {path}: start a run, or rebuild them with `propdesk replay`")
        self._engine: Engine = create_engine("sqlite://", creator=lambda: _connect(path), poolclass=NullPool)
        try:
            self._connection: Connection = self._engine.connect()
            self._check(path)
        except SQLAlchemyError as error:
            self._engine.dispose()
            said = getattr(error, "orig", None) or error
            raise ReadModelsUnavailable(f"{path} cannot be read ({said}): rebuild it with `propdesk replay`") from error

    def _check(self, path: Path) -> None:
        """Refuse a database that another build made."""
        if inspect(self._connection).has_table(META.name):
            found = self._connection.execute(select(META.c.schema_version)).scalar_one_or_none()
            if found == SCHEMA_VERSION:
                return
        else:
            found = None
        self.close()
        raise ReadModelsUnavailable(
            f"{path} has schema version {found or 'none'}, this build reads {SCHEMA_VERSION}: rebuild it with `propdesk replay`"
        )

    def cursor(self) -> int:
        """The sequence of the last event that is written."""
        return int(self._connection.execute(select(META.c.cursor)).scalar_one())

    def books(self) -> tuple[BookRow, ...]:
        """All books in the order in which they were opened."""
        return self._rows(BookRow, order="seq")

    def deposits(self, book: str) -> tuple[DepositRow, ...]:
        """A book's deposits and withdrawals, oldest first."""
        return self._rows(DepositRow, order="seq", book=book)

    def deposited(self, book: str) -> Exact:
        """The sum of a book's deposits less its withdrawals."""
        deposits = TABLE_OF[DepositRow]
        amounts = self._connection.execute(select(deposits.c.amount).where(deposits.c.book == book)).scalars()
        with wide_context():
            return Exact(sum(amounts, start=ZERO))

    def policy(self) -> PolicyRow | None:
        """The policy in force."""
        return next(iter(self._rows(PolicyRow, order="-seq", limit=1)), None)

    def operations(self, book: str | None = None, limit: int = MAX_ROWS) -> tuple[OperationRow, ...]:
        """What operators and alarms ordered, newest first."""
        return self._rows(OperationRow, order="-seq", limit=limit, book=book)

    def reconciliations(self, limit: int = MAX_ROWS) -> tuple[ReconciliationRow, ...]:
        """Looks at the account, newest first."""
        return self._rows(ReconciliationRow, order="-seq", limit=limit)

    def desk(self) -> DeskSummary | None:
        """How the desk stands; None before anything is written."""
        found = self._connection.execute(select(DESK.c.document)).scalar_one_or_none()
        return None if found is None else from_text(found)

    def runs(self, book: str | None = None, limit: int = MAX_ROWS) -> tuple[RunRow, ...]:
        """Runs, newest first."""
        return self._rows(RunRow, order="-seq", limit=limit, book=book)

    def orders(self, book: str | None = None, run: str | None = None, limit: int = MAX_ROWS) -> tuple[OrderRow, ...]:
        """Approved orders, newest verdict first, within it by index."""
        return self._rows(OrderRow, order="-seq", then="order_index", limit=limit, book=book, run=run)

    def decisions(self, book: str | None = None, run: str | None = None, limit: int = MAX_ROWS) -> tuple[DecisionRow, ...]:
        """Decisions, newest verdict first, within it by index."""
        return self._rows(DecisionRow, order="-seq", then="order_index", limit=limit, book=book, run=run)

    def reasons(self, run: str) -> tuple[ReasonRow, ...]:
        """Every reason of a run's verdicts; those with index 0 hold for the whole batch."""
        return self._rows(ReasonRow, order="seq", then="order_index", run=run)

    def fills(self, book: str | None = None, order_id: str | None = None, limit: int = MAX_ROWS) -> tuple[FillRow, ...]:
        """Fills, newest first."""
        return self._rows(FillRow, order="-seq", limit=limit, book=book, order_id=order_id)

    def valuations(self, book: str, purpose: str | None = None, limit: int = MAX_ROWS) -> tuple[ValuationRow, ...]:
        """A book's valuations, newest first; `purpose` is run or close."""
        return self._rows(ValuationRow, order="-seq", limit=limit, book=book, purpose=purpose)

    def dropped(self, limit: int = MAX_ROWS) -> tuple[DroppedRow, ...]:
        """Stored messages that are no facts, newest first."""
        return self._rows(DroppedRow, order="-seq", limit=limit)

    def events(self, run: str | None = None, limit: int = MAX_ROWS) -> tuple[EventRow, ...]:
        """The index of the log, or of one run, newest first."""
        return self._rows(EventRow, order="-seq", limit=limit, run=run)

    def counts(self) -> dict[str, Counts]:
        """Orders per book; every book that was opened is in it."""
        approved = self._per_book(DecisionRow, TABLE_OF[DecisionRow].c.approved.is_(True))
        blocked = self._per_book(
            DecisionRow, TABLE_OF[DecisionRow].c.approved.is_(False), TABLE_OF[DecisionRow].c.needs_approval.is_(False)
        )
        withheld = self._per_book(OrderRow, TABLE_OF[OrderRow].c.withheld.is_not(None))
        filled = self._per_book(OrderRow, TABLE_OF[OrderRow].c.filled != ZERO)
        return {
            book: Counts(
                proposed=approved.get(book, 0) + blocked.get(book, 0),
                approved=approved.get(book, 0),
                blocked=blocked.get(book, 0),
                withheld=withheld.get(book, 0),
                filled=filled.get(book, 0),
            )
            for book in (row.book for row in self.books())
        }

    def blocked_by(self, book: str | None = None) -> tuple[Blocked, ...]:
        """How often each rule blocked an order, most often first; an order with two reasons counts once for each rule.

        A reason of a whole batch counts for each of its orders.
        """
        reasons, decisions = TABLE_OF[ReasonRow], TABLE_OF[DecisionRow]
        own = reasons.c.order_index == decisions.c.order_index
        query = (
            select(
                decisions.c.book,
                reasons.c.rule,
                func.count(func.distinct(decisions.c.seq * 1000 + decisions.c.order_index)).label("orders"),
            )
            .join(reasons, (reasons.c.seq == decisions.c.seq) & (own | (reasons.c.order_index == 0)))
            .where(decisions.c.approved.is_(False), decisions.c.needs_approval.is_(False))
            .group_by(decisions.c.book, reasons.c.rule)
        )
        if book is not None:
            query = query.where(decisions.c.book == book)
        found = [Blocked(row.book, row.rule, row.orders) for row in self._connection.execute(query)]
        return tuple(sorted(found, key=lambda row: (-row.orders, row.book, row.rule)))

    def _per_book(self, kind: type[Row], *conditions: ColumnElement[bool]) -> dict[str, int]:
        """Rows per book that meet all conditions."""
        table = TABLE_OF[kind]
        query = select(table.c.book, func.count()).where(*conditions).group_by(table.c.book)
        return {row[0]: row[1] for row in self._connection.execute(query)}

    def _rows(
        self, kind: type[R], *, order: str, then: str | None = None, limit: int = MAX_ROWS, **equal: str | None
    ) -> tuple[R, ...]:
        """Rows of one table whose columns equal what is given; a leading minus in `order` means newest first."""
        table = TABLE_OF[kind]
        name = order.lstrip("-")
        query: Select[tuple[object, ...]] = select(table).limit(limit)
        query = query.order_by(table.c[name].desc() if order.startswith("-") else table.c[name].asc())
        if then is not None:
            query = query.order_by(table.c[then])
        for column, value in equal.items():
            if value is not None:
                query = query.where(table.c[column] == value)
        return tuple(kind(*row) for row in self._connection.execute(query))

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
        self._engine.dispose()

    def __enter__(self) -> Self:
        """Use as a context."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close it."""
        self.close()
