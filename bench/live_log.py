"""Folding the whole log from a real server, as `propdesk replay --to` does: read, checked, decoded, folded, hashed at the end.

Beside it: a bare nats-py callback subscription with two pulls outstanding, which decodes the same payloads with msgspec. The hash
is compared with the last one in the log.
"""

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import msgspec
from _table import Figure, parser, report
from append import START_S, WINDOW, best, clients, read_bare, start_server

from services.journal.replay import replay
from shared.bus.jetstream import Connection
from shared.bus.ports import Stored
from shared.protocol.envelope import read_event
from shared.protocol.events import StateHashed
from tests.unit.journal.desk_log import desk_log

SESSIONS: Final = 120
ROUNDS: Final = 3


async def fill(writer: Connection, stored: list[Stored]) -> None:
    """Store the messages in their order, many of them under way at once over the one connection."""
    for start in range(0, len(stored), WINDOW):
        part = stored[start : start + WINDOW]
        await asyncio.gather(*(writer.link.ask(one.subject, one.payload, START_S, {"Nats-Msg-Id": one.msg_id}) for one in part))


async def measure(url: str, monitor_url: str, stored: list[Stored], rounds: int) -> Figure:
    """Both readers, in turns."""
    last = stored[-1]
    expected = read_event(last.seq, last.subject, last.payload).expect(StateHashed).state_hash
    decoder = msgspec.json.Decoder()
    async with clients(url, monitor_url) as (writer, reader, bare):
        await fill(writer, stored)

        async def ours() -> float:
            found = await replay(reader.log, None)
            if (found.last_seq, found.state_hash) != (len(stored), expected):
                raise SystemExit(f"folded to {found}, expected {expected} at {len(stored)}")
            return found.seconds

        folded = decoded = 0.0
        for _ in range(rounds):  # in turns, so that other work on the machine slows both alike
            folded = max(folded, await best(ours, len(stored), 1))
            decoded = max(decoded, await best(lambda: read_bare(bare, len(stored), decoder.decode), len(stored), 1))
    beside = "bare pull, msgspec decode"
    return Figure("live log folded and hashed", folded, "events/s", decoded, beside, "≥ 0.5 of the bare client")


def main() -> None:
    """Measure and print."""
    options = parser(__doc__)
    options.add_argument("--sessions", type=int, default=SESSIONS, help="length of the log, some 80 events each")
    options.add_argument("--rounds", type=int, default=ROUNDS)
    given = options.parse_args()
    stored = desk_log(given.sessions).stored
    with tempfile.TemporaryDirectory() as folder:
        server, url, monitor_url = start_server(Path(folder))
        try:
            figure = asyncio.run(measure(url, monitor_url, stored, given.rounds))
        finally:
            server.terminate()
            server.wait(START_S)
    report([figure], as_json=given.json)


if __name__ == "__main__":
    main()
