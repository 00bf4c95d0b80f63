"""The database of the read models: batches go in whole, with the sequence of their last event, or not at all."""

import operator
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self, cast

from sqlalchemy import URL, Connection, Engine, Table, Update, bindparam, create_engine, event, insert, inspect, select, update
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from services.journal.batch import Batch, Columns
from services.journal.files import discard
from services.journal.lock import WriterLock
from services.journal.rows import OrderRow
from services.journal.schema import DESK, META, METADATA, SCHEMA_VERSION, TABLE_OF
from shared.protocol.money import ZERO, Exact, wide_context

BUSY_TIMEOUT_MS: Final = 5000
"""How long a write waits for a reader that holds the file."""
IDS_PER_QUERY: Final = 500
META_ID: Final = 1
DESK_ID: Final = 1

LIVE: Final = ("journal_mode=WAL", "synchronous=NORMAL", f"busy_timeout={BUSY_TIMEOUT_MS}")
"""After a power cut the newest batches may be missing, never parts of one: they are read from the log again."""
BUILDING: Final = ("journal_mode=OFF", "synchronous=OFF", "cache_size=-32768")
"""For a new file that nobody reads and that is thrown away if anything fails."""


class StoreFailed(Exception):
    """The database cannot be opened or written, with its path and what it said."""


class Store:
    """Read models in one SQLite file, written by this process alone.

    `cursor` is the sequence of the last event written, 0 in a new database, and `sha256` its hash. `rebuilt` says why what
    was there before was dropped, None if it was kept or there was none.
    """

    def __init__(self, path: Path, pragmas: tuple[str, ...] = LIVE) -> None:
        """Open `path`, or make it; what is no database of this schema version is dropped.

        Raises `DatabaseInUse` if another process writes it, `StoreFailed` if it cannot be opened.
        """
        self.path = path
        self.rebuilt: str | None = None
        self.cursor, self.sha256 = 0, ""
        self._pragmas = pragmas
        with self._failures("open"):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = WriterLock(path)
        try:
            with self._failures("open"):
                self._open()
        except BaseException:
            self._lock.release()
            raise

    def _open(self) -> None:
        """Connect; drop and make anew what has another schema."""
        self._engine = _engine(self.path, self._pragmas)
        if self.path.exists():
            self.rebuilt = self._unfit()
            if self.rebuilt is None:
                return
            self._engine.dispose()
            discard(self.path)
        self._create()

    def _unfit(self) -> str | None:
        """Why the database that is there cannot be used; else its cursor is taken over."""
        try:
            with self._engine.connect() as connection:
                if not inspect(connection).has_table(META.name):
                    return "it holds no read models"
                found = connection.execute(select(META.c.schema_version, META.c.cursor, META.c.sha256)).one_or_none()
        except SQLAlchemyError as error:
            return f"it cannot be read ({_said(error)})"
        if found is None or found.schema_version != SCHEMA_VERSION:
            return f"it has schema version {found.schema_version if found else 'none'}, this build has {SCHEMA_VERSION}"
        self.cursor, self.sha256 = found.cursor, found.sha256
        return None

    def _create(self) -> None:
        """All tables, with the cursor at 0."""
        with self._engine.begin() as connection:
            METADATA.create_all(connection)
            connection.execute(insert(META).values(id=META_ID, schema_version=SCHEMA_VERSION, cursor=0, sha256=""))
        self.cursor, self.sha256 = 0, ""

    def reset(self, reason: str) -> None:
        """Drop everything that is in the database and start at sequence 0; raises `StoreFailed`."""
        with self._failures("rebuild"):
            self._engine.dispose()
            discard(self.path)
            self._create()
        self.rebuilt = reason

    def write(self, batch: Batch) -> None:
        """Write the batch and its cursor in one transaction; raises `StoreFailed`, and then nothing of it is written.

        Raises `ValueError` for a batch that does not begin behind the cursor.
        """
        if batch.after != self.cursor:
            raise ValueError(f"a batch behind {batch.after} cannot follow {self.cursor}")
        if batch.sha256 is None:
            return
        with self._failures("write"), self._engine.begin() as connection:
            _insert_all(connection, batch)
            _add_filled(connection, batch)
            _update_all(connection, batch)
            _put_desk(connection, batch)
            connection.execute(update(META).values(cursor=batch.cursor, sha256=batch.sha256))
        self.cursor, self.sha256 = batch.cursor, batch.sha256

    def close(self) -> None:
        """Close the file and let another process write it.

        Without readers it becomes a single file, so that later ones need no right to write beside it.
        """
        with suppress(SQLAlchemyError), self._engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA busy_timeout=0")
            connection.exec_driver_sql("PRAGMA journal_mode=DELETE")
        self._engine.dispose()
        self._lock.release()

    @contextmanager
    def _failures(self, doing: str) -> Iterator[None]:
        """Turn what the database says into one line."""
        try:
            yield
        except (SQLAlchemyError, OSError) as error:
            raise StoreFailed(f"cannot {doing} the read models in {self.path}: {_said(error)}") from error

    def __enter__(self) -> Self:
        """Use as a context."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close it."""
        self.close()


def _engine(path: Path, pragmas: tuple[str, ...]) -> Engine:
    """An engine whose connections have these settings."""
    engine = create_engine(URL.create("sqlite", database=str(path)))

    @event.listens_for(engine, "connect")
    def configure(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}").close()

    return engine


def _said(error: Exception) -> str:
    """The database's own words, without the statement."""
    return str(getattr(error, "orig", None) or error)


def _insert_all(connection: Connection, batch: Batch) -> None:
    """Every new row; of rows that would stand twice the first stays."""
    for kind, found in batch.rows.items():
        connection.execute(insert(TABLE_OF[kind]), found)
    for kind, living in batch.living.items():
        if living:
            connection.execute(sqlite_insert(TABLE_OF[kind]).on_conflict_do_nothing(), list(living.values()))


def _add_filled(connection: Connection, batch: Batch) -> None:
    """Turn shares to add into the number that the order's row gets."""
    orders = TABLE_OF[OrderRow]
    wanted = list(batch.added)
    for start in range(0, len(wanted), IDS_PER_QUERY):
        ids = wanted[start : start + IDS_PER_QUERY]
        for found in connection.execute(select(orders.c.id, orders.c.filled).where(orders.c.id.in_(ids))):
            known = cast("Exact", found.filled or ZERO)
            with wide_context():
                batch.changed[OrderRow].setdefault(found.id, {})["filled"] = Exact(known + batch.added[found.id])


def _update_all(connection: Connection, batch: Batch) -> None:
    """Every changed row, one statement for all that change the same columns."""
    for kind, changed in batch.changed.items():
        alike: defaultdict[tuple[str, ...], list[Columns]] = defaultdict(list)
        for key, values in changed.items():
            alike[tuple(sorted(values))].append({"row_id": key, **values})
        for _, found in sorted(alike.items(), key=operator.itemgetter(0)):
            connection.execute(_update(TABLE_OF[kind]), found)


def _put_desk(connection: Connection, batch: Batch) -> None:
    """How the desk stands, in place of how it stood."""
    if batch.desk is None:
        return
    row = {"seq": batch.cursor, "document": batch.desk}
    stored = sqlite_insert(DESK).values(id=DESK_ID, **row)
    connection.execute(stored.on_conflict_do_update(index_elements=[DESK.c.id], set_=row))


def _update(table: Table) -> Update:
    """An update of rows by id; which columns it sets follows from the values given."""
    return update(table).where(table.c.id == bindparam("row_id"))
