"""Rebuilding every read model from the log: the ledger folded, rows projected, SQLite written, in a file beside the old one.

The log is in memory, so that neither server nor disk of the log takes part. Beside it: sqlite3 inserting the finished rows of all
tables into empty tables of the same columns, without keys or indexes. The rows are counted and the hash is compared with the one
in the log.
"""

import asyncio
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _table import Figure, parser, profile, rate, report

from services.journal.dump import Table, dump
from services.journal.replay import ReplayResult, replay
from shared.bus.ports import Stored
from shared.protocol.envelope import read_event
from shared.protocol.events import StateHashed
from tests.support.recorded import memory_log
from tests.unit.journal.desk_log import desk_log

SESSIONS: Final = 120
ROUNDS: Final = 3


def rebuild(stored: list[Stored], database: Path) -> ReplayResult:
    """What `propdesk replay` does once it is connected."""
    return asyncio.run(replay(memory_log(stored), database))


def insert(rows: dict[str, Table], database: Path) -> None:
    """Every row of every table, without deriving any."""
    database.unlink(missing_ok=True)
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA journal_mode=OFF")
    connection.execute("PRAGMA synchronous=OFF")
    for name, found in rows.items():
        if found:
            width = len(found[0])
            connection.execute(f"CREATE TABLE {name} ({', '.join(f'c{at}' for at in range(width))})")
            connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * width)})", found)
    connection.commit()
    connection.close()


def main() -> None:
    """Measure and print."""
    options = parser(__doc__)
    options.add_argument("--sessions", type=int, default=SESSIONS, help="length of the log, some 80 events each")
    options.add_argument("--rounds", type=int, default=ROUNDS)
    options.add_argument("--profile", action="store_true", help="show where the time goes instead")
    given = options.parse_args()
    stored = desk_log(given.sessions).stored
    last = stored[-1]
    expected = read_event(last.seq, last.subject, last.payload).expect(StateHashed).state_hash
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder, "journal.db")
        found = rebuild(stored, database)
        rows = dump(database)
        if found.state_hash != expected or len(rows["events"]) != len(stored):
            raise SystemExit("the read models are not those of the log")
        if given.profile:
            profile(lambda: rebuild(stored, database))
            return
        ours = rate(lambda: rebuild(stored, database), len(stored), given.rounds)
        peer = rate(lambda: insert(rows, Path(folder, "bare.db")), len(stored), given.rounds)
    figures = [Figure("database replay", ours, "events/s", peer, "sqlite3 inserts of the same rows", "≥ 15,000/s")]
    report(figures, as_json=given.json)


if __name__ == "__main__":
    main()
