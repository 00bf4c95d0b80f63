"""How soon a service is ready on a long log, from its snapshot and from zero, beside a bare reader of the same log.

Every event is signed, and each service verifies all that it folds, with its own key and rights, as on any desk.

Target: ready within 3 s at 100,000 events after kill -9. Prints, never asserts speed; sequences and hashes are checked.
"""

import asyncio
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _table import Figure, parser, report

from shared.bus.jetstream import Connection
from tests.support.long_log import make_desk
from tests.support.recovery import Recovery, recover

EVENTS: Final = 20_000
TARGET: Final = "≤ 3 s at 100,000 events"
SERVICES: Final = ("gate", "executor", "agent", "journal")


async def bare(connection: Connection, last: int) -> float:
    """Seconds to read everything without checking or folding anything."""
    began = time.monotonic()
    reading = connection.log.read(0)
    count = 0
    async for batch in reading:
        count += len(batch)
        if count >= last:
            break
    await reading.aclose()
    return time.monotonic() - began


def lines(name: str, found: Recovery, bare_s: float, target: str = "") -> list[Figure]:
    """Two lines of the table."""
    return [
        Figure(f"{name}: ready", found.ready_s, "s", bare_s, "bare reader, read alone", target),
        Figure(f"{name}: peak memory", found.peak_mb, "MB"),
    ]


async def measure(events: int, folder: Path) -> list[Figure]:
    """All services, one after another: from zero, ended cleanly (which leaves a snapshot), killed, and from the snapshot."""
    made = await make_desk(folder / "desk", events)
    server = made.server()
    server.start()
    figures: list[Figure] = []
    try:
        connection = await made.connect(server)
        bare_s = await bare(connection, made.seq)
        for service in SERVICES:
            zero = await recover(connection, service, server.url, made)
            kept = await recover(connection, service, server.url, made, signal.SIGKILL)
            if not zero.seq == kept.seq == made.seq:
                raise SystemExit(f"{service} was ready at {zero.seq} and {kept.seq}, the log ends at {made.seq}")
            if not (made.folder / "services" / service / "snapshot.json").exists():
                raise SystemExit(f"{service} left no snapshot")
            figures += lines(f"{service} from zero, {made.seq} events", zero, bare_s)
            figures += lines(f"{service} from its snapshot", kept, bare_s, TARGET)
        await connection.close()
    finally:
        server.stop()
    return figures


def main() -> None:
    """Measure at the number of events asked for."""
    options = parser(__doc__)
    options.add_argument("--events", type=int, default=EVENTS)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(measure(given.events, Path(folder)))
    report(figures, as_json=given.json)


if __name__ == "__main__":
    main()
