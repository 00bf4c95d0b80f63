"""Column types that keep amounts and times exactly, on SQLite and on PostgreSQL.

SQLite has no decimal type (its NUMERIC is a binary float) and no zones, so both are canonical text there. Text does not sort
as a number does: beside each amount stands a generated column `<name>_approx`, a float for people's queries.
"""

from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import DDL, Dialect, MetaData, Numeric, Table, Text, TypeDecorator, event
from sqlalchemy.schema import ExecutableDDLElement
from sqlalchemy.types import TypeEngine

from shared.protocol.instants import parse, to_text
from shared.protocol.money import Exact

APPROX_SUFFIX: Final = "_approx"


class ExactColumn(TypeDecorator[Exact]):
    """An `Exact`: canonical text on SQLite, NUMERIC without a scale on PostgreSQL. Other numbers are refused."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The type of the column in the database."""
        kind: TypeEngine[Any] = Numeric(asdecimal=True) if dialect.name == "postgresql" else Text()
        return dialect.type_descriptor(kind)

    def process_bind_param(self, value: Exact | None, dialect: Dialect) -> Any:
        """What is written; raises `TypeError` for a number that was not normalised."""
        if value is None:
            return None
        if not isinstance(value, Exact):
            raise TypeError(f"{value!r} is no Exact: amounts are normalised before they are written")
        return value if dialect.name == "postgresql" else str(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Exact | None:
        """What is read; raises `NumberError` for a text that is not canonical."""
        if value is None:
            return None
        return Exact(value) if isinstance(value, Decimal) else Exact.read(value)


class InstantColumn(TypeDecorator[str]):
    """A time: canonical text `YYYY-MM-DDTHH:MM:SS.ffffffZ` on both, which sorts as time does."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | datetime | None, dialect: Dialect) -> str | None:
        """What is written, from canonical text or an aware datetime; raises `TimeError` for anything else."""
        if isinstance(value, datetime):
            return to_text(value)
        return value if value is None else _checked(value)


@lru_cache(maxsize=1024)
def _checked(text: str) -> str:
    """Refuse what is no canonical time; remembered, because all events of a step of desk time share one."""
    parse(text)
    return text


def add_approximations(metadata: MetaData) -> None:
    """Give every `ExactColumn` of these tables its `<name>_approx` column whenever they are created on SQLite.

    The column is virtual: computed when read, it costs nothing to write. It is added by ALTER TABLE because only SQLite needs
    it, and a table's columns are the same for all databases.
    """
    for table in metadata.sorted_tables:
        for name in exact_columns(table):
            column = f'{name}{APPROX_SUFFIX} REAL GENERATED ALWAYS AS (CAST("{name}" AS REAL)) VIRTUAL'
            statement: ExecutableDDLElement = DDL(f"ALTER TABLE {table.name} ADD COLUMN {column}")  # type: ignore[no-untyped-call]
            event.listen(table, "after_create", statement.execute_if(dialect="sqlite"))


def exact_columns(table: Table) -> tuple[str, ...]:
    """The names of a table's amounts."""
    return tuple(column.name for column in table.columns if isinstance(column.type, ExactColumn))
