"""One hop: from the start of an append in one process to the event folded in another, over a server that flushes every write.

Ours appends with id, expected stream and the author's fence, and folds with every check and the whole ledger. Beside it, in turns
on the same server and between the same two processes: a bare nats-py publish to a bare callback subscription of another stream.
Both processes read one monotonic clock. What was folded is counted, and its order checked.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from _table import Figure, parser, percentiles, report
from append import start_server
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy, StreamConfig

from shared.bus.jetstream import check_server, connect, ensure_stream
from shared.bus.participant import Participant
from shared.ledger.fold import apply
from shared.ledger.state import State
from shared.protocol.envelope import Draft, Event
from shared.protocol.events import CancelOrdered
from shared.protocol.ids import DESK_BOOK

AT: Final = "2022-10-03T14:30:00.000000Z"
BARE: Final = "BARE"
BLOCK: Final = 50
PAYLOAD: Final = b"x" * 600
WAIT_S: Final = 60.0

Began = dict[int, int]
"""When the append of each sequence began, in nanoseconds of the monotonic clock."""


async def receive(url: str, count: int) -> None:
    """The other process: folds one stream, listens to the other, and prints when each message arrived."""
    connection, bare = await connect(url, "executor"), Client()
    await bare.connect(url)
    folded: dict[int, int] = {}
    heard: dict[int, int] = {}

    def take(state: State, event: Event) -> State:
        state = apply(state, event)
        folded[event.seq] = time.monotonic_ns()
        return state

    async def listen(message: Msg) -> None:
        heard[message.metadata.sequence.stream] = time.monotonic_ns()

    config = ConsumerConfig(ack_policy=AckPolicy.NONE, deliver_policy=DeliverPolicy.ALL)
    await bare.jetstream().subscribe("bare.>", stream=BARE, cb=listen, config=config, manual_ack=True)
    participant = Participant(
        connection.log, connection.rpc, author="executor", instance="1-bench", desk="bench", state=State(), apply=take
    )
    await participant.start()
    print("ready", flush=True)
    async with asyncio.timeout(WAIT_S):
        while len(folded) < count or len(heard) < count:
            await participant.advance(0.01)
    print(json.dumps([list(folded.items()), list(heard.items())]), flush=True)
    await participant.close()
    await connection.close()
    await bare.close()


async def send(url: str, monitor_url: str, count: int, made: asyncio.Event, ready: asyncio.Event) -> tuple[Began, Began]:
    """This process: makes both streams, and appends to them in turns once the other one is ready."""
    connection, bare = await connect(url, "desk"), Client()
    await bare.connect(url)
    await check_server(connection, monitor_url)
    await ensure_stream(connection)
    await bare.jetstream().add_stream(StreamConfig(name=BARE, subjects=["bare.>"]))
    participant = Participant(
        connection.log, connection.rpc, author="desk", instance="2-bench", desk="bench", state=State(), apply=apply
    )
    await participant.start()
    made.set()
    await ready.wait()
    ours: Began = {}
    peers: Began = {}
    for number in range(count):
        if number % BLOCK == 0:
            for _ in range(min(BLOCK, count - number)):
                began = time.monotonic_ns()
                peers[(await bare.jetstream().publish("bare.x", PAYLOAD)).seq] = began
        began = time.monotonic_ns()
        event = await participant.append(Draft("desk", DESK_BOOK, f"r{number}", AT, participant.cursor, CancelOrdered("o", "r")))
        if event is None:
            raise SystemExit("the log moved although nobody else writes")
        ours[event.seq] = began
    await participant.close()
    await connection.close()
    await bare.close()
    return ours, peers


async def measure(url: str, monitor_url: str, count: int) -> list[Figure]:
    """Both ways, in turns."""
    made, ready = asyncio.Event(), asyncio.Event()
    sending = asyncio.create_task(send(url, monitor_url, count, made, ready))
    await made.wait()
    command = (sys.executable, __file__, "--receive", url, "--events", str(count))
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, limit=2**24)
    assert process.stdout is not None
    if await process.stdout.readline() != b"ready\n":
        raise SystemExit("the other process did not come up")
    ready.set()
    began_ours, began_peers = await sending
    folded, heard = (dict(rows) for rows in json.loads(await process.stdout.readline()))
    if list(folded) != list(range(1, count + 1)) or sorted(heard) != list(range(1, count + 1)):
        raise SystemExit("not everything arrived, or not in order")
    ours = percentiles([(folded[seq] - began) / 1e9 for seq, began in began_ours.items()])
    peers = percentiles([(heard[seq] - began) / 1e9 for seq, began in began_peers.items()])
    await process.wait()
    return [
        Figure("append to folded elsewhere, p50", ours[0], "ms", peers[0], "bare publish to callback"),
        Figure("append to folded elsewhere, p99", ours[1], "ms", peers[1], "bare publish to callback"),
    ]


def main() -> None:
    """Measure and print, or be the other process."""
    options = parser(__doc__)
    options.add_argument("--events", type=int, default=1000, help="hops each way")
    options.add_argument("--receive", metavar="URL", help="be the receiving process")
    given = options.parse_args()
    if given.receive:
        asyncio.run(receive(given.receive, given.events))
        return
    with tempfile.TemporaryDirectory() as folder:
        server, url, monitor_url = start_server(Path(folder))
        try:
            figures = asyncio.run(measure(url, monitor_url, given.events))
        finally:
            server.terminate()
            server.wait(WAIT_S)
    report(figures, as_json=given.json)


if __name__ == "__main__":
    main()
