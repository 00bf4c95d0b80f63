"""Amounts and times come back from the database as they went in."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Column, Connection, MetaData, Table, Text, create_engine, insert, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import StatementError
from sqlalchemy.schema import CreateTable

from services.journal.columns import ExactColumn, InstantColumn, add_approximations
from services.journal.rows import ROW_TYPES
from services.journal.schema import METADATA, TABLE_OF
from shared.protocol.money import Exact

FORTY_DIGITS = (
    "1234567890123456789012345678.901234567891",
    "-0.000000000123456789012345678901",
    "999999999999999999999999999999.9999999999",
    "123456789.123456789012",
    "0",
    "100",
    "-1",
    "0.1",
)

ZONELESS = datetime(2026, 1, 5, tzinfo=UTC).replace(tzinfo=None)
METADATA_HERE = MetaData()
SAMPLE = Table(
    "sample", METADATA_HERE, Column("name", Text, primary_key=True), Column("amount", ExactColumn), Column("at", InstantColumn)
)
add_approximations(METADATA_HERE)


@pytest.fixture(scope="module")
def database() -> Iterator[Connection]:
    """A SQLite database with one table."""
    engine = create_engine("sqlite://")
    METADATA_HERE.create_all(engine)
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def stored(connection: Connection, **values: object) -> tuple[Exact | None, str | None]:
    """What comes back of one row."""
    with connection.begin_nested() as transaction:
        connection.execute(insert(SAMPLE).values(name="x", **values))
        amount, at = connection.execute(select(SAMPLE.c.amount, SAMPLE.c.at)).one()
        transaction.rollback()
    return amount, at


@pytest.mark.parametrize("text", FORTY_DIGITS)
def test_an_amount_of_forty_digits_comes_back_equal_and_in_the_same_spelling(database: Connection, text: str):
    amount, _ = stored(database, amount=Exact(text))
    assert isinstance(amount, Exact)
    assert str(amount) == text


@given(st.decimals(min_value=Decimal(-(10**25)), max_value=Decimal(10**25), places=14))
def test_any_amount_comes_back_equal(number: Decimal):
    engine = create_engine("sqlite://")
    METADATA_HERE.create_all(engine)
    with engine.begin() as connection:
        connection.execute(insert(SAMPLE).values(name="x", amount=Exact(number)))
        assert connection.execute(select(SAMPLE.c.amount)).scalar_one() == number
    engine.dispose()


def test_unknown_stays_unknown(database: Connection):
    assert stored(database, amount=None, at=None) == (None, None)


@pytest.mark.parametrize("value", [Decimal("1.0"), 1, 1.5, "2"])
def test_a_number_that_was_not_normalised_is_refused(database: Connection, value: object):
    with pytest.raises(StatementError, match="is no Exact"):
        stored(database, amount=value)


def test_a_time_is_the_same_text_again(database: Connection):
    text = "2026-01-05T15:30:00.000001Z"
    assert stored(database, at=text) == (None, text)


def test_an_aware_time_of_another_zone_is_stored_as_utc(database: Connection):
    moment = datetime(2026, 1, 5, 10, 30, tzinfo=timezone(timedelta(hours=-5)))
    assert stored(database, at=moment)[1] == "2026-01-05T15:30:00.000000Z"
    assert stored(database, at=moment.astimezone(UTC))[1] == "2026-01-05T15:30:00.000000Z"


@pytest.mark.parametrize("value", [ZONELESS, "2026-01-05", "2026-01-05T15:30:00Z", "2026-02-30T00:00:00.000000Z"])
def test_a_time_without_zone_or_in_another_spelling_is_refused(database: Connection, value: object):
    with pytest.raises(StatementError):
        stored(database, at=value)


def test_beside_each_amount_stands_a_float_for_peoples_queries():
    engine = create_engine("sqlite://")
    METADATA.create_all(engine)
    with engine.begin() as connection:
        for table in METADATA.sorted_tables:
            found = {row[1]: row[2] for row in connection.exec_driver_sql(f"PRAGMA table_xinfo({table.name})")}
            wanted = {f"{column.name}_approx" for column in table.columns if isinstance(column.type, ExactColumn)}
            assert {name for name in found if name.endswith("_approx")} == wanted
            assert {found[name] for name in wanted} <= {"REAL"}
        values = {"seq": 1, "book": "a", "at": "2026-01-05T15:30:00.000000Z", "amount": Exact("10000.25"), "reason": ""}
        connection.execute(insert(METADATA.tables["deposits"]).values(values))
        assert connection.exec_driver_sql("SELECT amount_approx + 1 FROM deposits").scalar_one() == 10001.25
    engine.dispose()


def test_postgresql_gets_numeric_without_a_scale_and_no_float_columns():
    text = str(CreateTable(SAMPLE).compile(dialect=postgresql.dialect()))
    assert "amount NUMERIC," in text
    assert "at TEXT" in text
    dialect = postgresql.dialect()
    bound = ExactColumn().bind_processor(dialect)
    read = ExactColumn().result_processor(dialect, None)
    assert bound is not None
    assert read is not None
    for digits in FORTY_DIGITS:
        assert read(bound(Exact(digits))) == Exact(digits)
    assert str(read(Decimal("1.500"))) == "1.5"
    assert "amount TEXT," in str(CreateTable(SAMPLE).compile(dialect=sqlite.dialect()))


def test_a_row_has_the_columns_of_its_table_in_the_same_order():
    assert len(TABLE_OF) == len(ROW_TYPES)
    assert set(METADATA.tables) - {kind.table for kind in ROW_TYPES} == {"meta", "desk"}  # what is no row of an event
    for kind, table in TABLE_OF.items():
        assert list(kind.__struct_fields__) == [column.name for column in table.columns], kind


def test_a_name_that_looks_like_something_else_stays_text():
    names = ["NA", "TRUE", "NULL", "None", "007", "1e5", "0x10", "1.10", "nan", "", " "]
    engine = create_engine("sqlite://")
    METADATA.create_all(engine)
    books = METADATA.tables["books"]
    rows = [
        {"book": f"{n}", "source": name, "currency": name, "opened_at": "2026-01-05T15:30:00.000000Z", "seq": n}
        for n, name in enumerate(names)
    ]
    with engine.begin() as connection:
        connection.execute(insert(books), rows)
        assert connection.execute(select(books.c.source, books.c.currency).order_by(books.c.seq)).all() == [(n, n) for n in names]
        kinds = connection.exec_driver_sql("SELECT DISTINCT typeof(source) FROM books").scalars().all()
        assert kinds == ["text"]
    engine.dispose()
