"""How soon a service is ready on a long log, from its snapshot and from zero, beside a bare reader of the same log.

Target: ready within 3 s at 100,000 events after kill -9. Prints, never asserts speed; sequences and hashes are checked.
"""

import argparse
import asyncio
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from shared.bus.jetstream import Connection, connect
from tests.integration.bus.servers import NatsServer
from tests.support.long_log import make_store
from tests.support.recovery import Recovery, recover

EVENTS: Final = 20_000
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


def show(name: str, found: Recovery) -> None:
    """One line of the table."""
    print(f"{name:32} ready {found.ready_s:7.2f} s   peak {found.peak_mb:6.0f} MB")


async def measure(events: int, folder: Path) -> None:
    """All services, one after another: from zero, ended cleanly (which leaves a snapshot), killed, and from the snapshot."""
    began = time.monotonic()
    made = await make_store(folder / "nats", events)
    print(f"{made.seq} events written in {time.monotonic() - began:.1f} s")
    server = NatsServer(folder / "nats").start()
    try:
        connection = await connect(server.url, "bench")
        print(f"{'bare reader':32} read  {await bare(connection, made.seq):7.2f} s")
        for service in SERVICES:
            data = folder / "desk"
            zero = await recover(connection, service, server.url, data)
            kept = await recover(connection, service, server.url, data, signal.SIGKILL)
            assert zero.seq == kept.seq == made.seq
            assert (data / "services" / service / "snapshot.json").exists()
            show(f"{service} from zero", zero)
            show(f"{service} from its snapshot", kept)
        await connection.close()
    finally:
        server.stop()


def main() -> None:
    """Measure at the number of events asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(parser.parse_known_args()[0].events, Path(folder)))


if __name__ == "__main__":
    main()
