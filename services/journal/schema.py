"""Which table holds which rows, and the version of all of it.

A database of another version is dropped and rebuilt from the log: that replaces migrations.
"""

from typing import Final

from sqlalchemy import Table
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateTable

from services.journal import desk_models, models, rows
from services.journal.columns import add_approximations
from services.journal.row import Row
from shared.protocol.envelope import sha256_hex

PROJECTION_VERSION: Final = 2
"""Goes up when the same events give other rows in the same columns."""

METADATA: Final = models.ReadModel.metadata
add_approximations(METADATA)
META: Final[Table] = METADATA.tables["meta"]
DESK: Final[Table] = METADATA.tables[desk_models.Desk.__tablename__]
TABLE_OF: Final[dict[type[Row], Table]] = dict(
    zip(rows.ROW_TYPES, (METADATA.tables[kind.table] for kind in rows.ROW_TYPES), strict=True)
)


def _schema_version() -> str:
    """The projection's version and a hash of all tables as SQLite would create them."""
    text = "".join(str(CreateTable(table).compile(dialect=sqlite.dialect())) for table in METADATA.sorted_tables)
    return f"{PROJECTION_VERSION}-{sha256_hex(text.encode())[:12]}"


SCHEMA_VERSION: Final = _schema_version()
"""Of the tables in this build: another one as soon as any column, or `PROJECTION_VERSION`, differs."""
