"""Appending to and reading from the log on a real nats-server, beside bare nats-py in the same run.

Append: awaited one by one, ours with id, expected stream, the author's fence and the stream-wide expectation, the peer's a
`js.publish` with nothing; blocks of both alternate on one stream that is flushed on every write. Late: ours again, behind as many
messages as are then read. Delivery: from the start of an append to its arrival at a reader on another connection. Read: the whole
log by our reader (contiguity checked, ids kept) and by a bare callback subscription with two pulls outstanding; best of some
rounds. What was stored and what was read is checked.
"""

import asyncio
import json
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from _table import Figure, parser, percentiles, report
from nats.aio.client import Client
from nats.aio.msg import Msg

from services.desk.server import find_binary
from shared.bus.jetstream import Connection, check_server, connect, ensure_stream
from shared.bus.nats_config import server_config
from shared.bus.ports import Append, Reading

START_S: Final = 20.0
READ_S: Final = 120.0
BLOCK: Final = 50
WINDOW: Final = 500
PULL: Final = 5000
PAYLOAD: Final = b"x" * 1000
Times = list[float]


def start_server(folder: Path) -> tuple[subprocess.Popen[bytes], str, str]:
    """A server with a fresh store in `folder`: the process, its client and its monitoring address."""
    config = folder / "nats.conf"
    config.write_text(server_config(store_dir=folder / "js", ports_file_dir=folder), "utf-8")
    process = subprocess.Popen([str(find_binary()), "-c", str(config)], stderr=subprocess.DEVNULL)
    ports = folder / f"nats-server_{process.pid}.ports"
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        if ports.exists() and (text := ports.read_text("utf-8")).endswith("}"):
            found = json.loads(text)
            return process, found["nats"][0], found["monitoring"][0]
        time.sleep(0.005)
    process.kill()
    raise SystemExit("nats-server did not start")


@asynccontextmanager
async def clients(url: str, monitor_url: str) -> AsyncIterator[tuple[Connection, Connection, Client]]:
    """A writer, a reader and a bare nats-py client."""
    writer, reader, bare = await connect(url, "gate"), await connect(url, "journal"), Client()
    await bare.connect(url, pending_size=-1)
    try:
        await check_server(writer, monitor_url)
        await ensure_stream(writer)
        yield writer, reader, bare
    finally:
        for close in (writer.close, reader.close, bare.close):
            await close()


class Appending:
    """Both ways to append, one by one, on one stream."""

    def __init__(self, writer: Connection, bare: Client) -> None:
        """Nothing is stored yet."""
        self._log, self._js = writer.log, bare.jetstream()
        self._fence_seq = self._last_seq = 0
        self.ours: Times = []
        self.peers: Times = []
        self.started: dict[int, float] = {}

    async def our_block(self) -> None:
        """Append with everything that a service appends with."""
        for _ in range(BLOCK):
            identity = f"gate:Verdict:{self._last_seq}"
            message = Append("ev.gate.b1.Verdict", identity, PAYLOAD, "ev.gate.>", self._fence_seq, self._last_seq)
            start = time.perf_counter()
            self._fence_seq = await self._log.append(message)
            self.ours.append(time.perf_counter() - start)
            self._expect(self._fence_seq)
            self.started[self._fence_seq] = start

    async def peer_block(self) -> None:
        """Publish with nothing but the payload."""
        for _ in range(BLOCK):
            start = time.perf_counter()
            ack = await self._js.publish("ev.desk.b1.Verdict", PAYLOAD)
            self.peers.append(time.perf_counter() - start)
            self._expect(ack.seq)

    def again_behind(self, last_seq: int) -> Times:
        """What was measured so far; from now on the log is this long."""
        early, self.ours, self._last_seq = self.ours, [], last_seq
        return early

    def _expect(self, seq: int) -> None:
        if seq != self._last_seq + 1:
            raise SystemExit(f"stored at {seq}, expected {self._last_seq + 1}")
        self._last_seq = seq


async def arrivals(reading: Reading, last: int) -> dict[int, float]:
    """When each message up to `last` arrives."""
    found: dict[int, float] = {}
    async with asyncio.timeout(READ_S):
        async for batch in reading:
            now = time.perf_counter()
            found.update((stored.seq, now) for stored in batch)
            if len(found) >= last:
                break
    await reading.aclose()
    return found


async def fill(writer: Connection, count: int) -> None:
    """Store messages without expectations, many at once."""
    for start in range(0, count, WINDOW):
        asked = (writer.link.ask("ev.desk.b1.Verdict", PAYLOAD, START_S) for _ in range(min(WINDOW, count - start)))
        await asyncio.gather(*asked)


async def read_ours(reader: Connection, count: int) -> float:
    """Seconds in which our reader reads the log, which it checks itself."""
    start, seen = time.perf_counter(), 0
    reading = reader.log.read(0)
    async with asyncio.timeout(READ_S):
        async for batch in reading:
            seen += len(batch)
            if batch[-1].seq != seen:
                raise SystemExit(f"read {seen} messages up to sequence {batch[-1].seq}")
            if seen >= count:
                break
    seconds = time.perf_counter() - start
    await reading.aclose()
    return seconds


async def read_bare(bare: Client, count: int, take: Callable[[bytes], object] = len) -> float:
    """Seconds in which a bare callback subscription with two pulls outstanding takes the payloads of the log."""
    seen, done, inbox = 0, asyncio.Event(), bare.new_inbox()

    async def received(message: Msg) -> None:
        nonlocal seen
        if message.reply.startswith("$JS.ACK."):
            take(message.data)
            seen += 1
            if seen % PULL == PULL // 2:
                await bare.publish(pull, ask, reply=inbox)
            if seen >= count:
                done.set()

    name = f"bench{time.monotonic_ns()}"
    pull, ask = f"$JS.API.CONSUMER.MSG.NEXT.EV.{name}", json.dumps({"batch": PULL}).encode()
    config = {"name": name, "ack_policy": "none", "deliver_policy": "all", "mem_storage": True}
    start = time.perf_counter()
    subscription = await bare.subscribe(inbox, cb=received, pending_msgs_limit=0, pending_bytes_limit=0)
    request = json.dumps({"stream_name": "EV", "config": config, "action": "create"}).encode()
    await bare.request(f"$JS.API.CONSUMER.CREATE.EV.{name}", request, timeout=START_S)
    for _ in range(2):
        await bare.publish(pull, ask, reply=inbox)
    async with asyncio.timeout(READ_S):
        await done.wait()
    seconds = time.perf_counter() - start
    await subscription.unsubscribe()
    return seconds


async def best(read: Callable[[], Awaitable[float]], count: int, rounds: int) -> float:
    """Events a second in the fastest round."""
    return count / min([await read() for _ in range(rounds)])


def lines(name: str, times: Times, peers: Times | None = None, beside: str = "") -> list[Figure]:
    """Two figures of some waits, in milliseconds."""
    ours, theirs = percentiles(times), percentiles(peers) if peers else (None, None)
    return [Figure(f"{name}, {cut}", ours[at], "ms", theirs[at], beside) for at, cut in enumerate(("p50", "p99"))]


async def measure(url: str, monitor_url: str, events: int, reads: int, rounds: int) -> list[Figure]:
    """All figures."""
    async with clients(url, monitor_url) as (writer, reader, bare):
        appending, blocks = Appending(writer, bare), max(1, events // BLOCK)
        last = 2 * BLOCK * blocks
        watching = asyncio.create_task(arrivals(reader.log.read(0), last))
        for _ in range(blocks):
            await appending.our_block()
            await appending.peer_block()
        arrived = await watching
        delivery = [arrived[seq] - start for seq, start in appending.started.items()]
        await fill(writer, max(0, reads - last))
        behind = await writer.log.last_seq()
        early = appending.again_behind(behind)
        for _ in range(blocks):
            await appending.our_block()
        count = await writer.log.last_seq()
        ours = await best(lambda: read_ours(reader, count), count, rounds)
        theirs = await best(lambda: read_bare(bare, count), count, rounds)
    return [
        *lines("append with expectations", early, appending.peers, "bare publish"),
        *lines(f"the same behind {behind:,} messages", appending.ours, early, "behind none"),
        *lines("append to arrival at a reader", delivery),
        Figure("read and checked", ours, "messages/s", theirs, "bare pull, counted"),
    ]


def main() -> None:
    """Measure and print."""
    options = parser(__doc__)
    options.add_argument("--events", type=int, default=1000, help="appends each way")
    options.add_argument("--reads", type=int, default=20_000, help="length of the log that is read")
    options.add_argument("--rounds", type=int, default=3, help="rounds of reading, of which the best counts")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        process, url, monitor_url = start_server(Path(folder))
        try:
            figures = asyncio.run(measure(url, monitor_url, given.events, given.reads, given.rounds))
        finally:
            process.terminate()
            process.wait(START_S)
    report(figures, as_json=given.json)


if __name__ == "__main__":
    main()
