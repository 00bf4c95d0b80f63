"""Everything in a database of read models, to compare two of them row for row."""

import sqlite3
from pathlib import Path

Table = list[tuple[object, ...]]


def dump(database: Path) -> dict[str, Table]:
    """Every table's rows in the order of its primary key, as SQLite holds them, without generated columns.

    Raises `sqlite3.DatabaseError` if there is no such database or it cannot be read.
    """
    connection = sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)
    try:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        return {name: _rows(connection, name) for (name,) in names}
    finally:
        connection.close()


def differences(one: dict[str, Table], other: dict[str, Table], limit: int = 10) -> list[str]:
    """The first rows that stand in only one of two dumps, one line each; empty if they are equal."""
    lines: list[str] = []
    for name in sorted({*one, *other}):
        left, right = set(one.get(name, [])), set(other.get(name, []))
        lines += [f"{name}: - {row}" for row in one.get(name, []) if row not in right]
        lines += [f"{name}: + {row}" for row in other.get(name, []) if row not in left]
        if len(lines) >= limit:
            break
    return lines[:limit]


def _rows(connection: sqlite3.Connection, table: str) -> Table:
    """One table, sorted by its key."""
    columns = [(name, key) for _, name, _, _, _, key in connection.execute(f"PRAGMA table_info({table})")]
    names = ", ".join(f'"{name}"' for name, _ in columns)
    order = ", ".join(f'"{name}"' for name, key in sorted(columns, key=lambda column: column[1]) if key)
    return connection.execute(f"SELECT {names} FROM {table} ORDER BY {order}").fetchall()
