"""Writes a log of any length into a real server, fast: three books trading day after day, with right links, folds and hashes.

`python -m tests.support.long_log DIRECTORY EVENTS` leaves a server's store in DIRECTORY/js.
"""

import asyncio
import sys
from pathlib import Path
from typing import Final

import msgspec

from shared.bus.jetstream import Connection, connect, ensure_stream
from shared.bus.js_api import MSG_ID
from shared.bus.ports import Stored
from shared.ledger.fold import apply
from shared.ledger.hashing import state_hash
from shared.ledger.state import State
from shared.protocol.envelope import Draft, Event, read_event, seal
from shared.protocol.events import EventData
from tests.integration.bus.servers import NatsServer
from tests.unit.journal.desk_log import DeskLog

BATCH: Final = 1000
ACK_S: Final = 60.0


class _Ack(msgspec.Struct):
    seq: int = 0


class LongLog(DeskLog):
    """Folds what it writes, and keeps only what `take` has not fetched yet."""

    def __init__(self) -> None:
        super().__init__("1-long")
        self.state = State()
        self.seq = 0

    def write(
        self,
        author: str,
        book: str,
        about: str,
        at: str,
        data: EventData,
        *,
        run: str | None = None,
        k: int = 1,
        mode: str = "sim",
    ) -> Event:
        """Append one event and fold it."""
        draft = Draft(author, book, about, at, self.seq, data, run, None, k, mode)
        prefix = f"{author}.{book}" if author == "agent" else author
        n, prev = self._last.get(prefix, (0, None))
        payload = seal(draft, desk="desk", instance=self._instance, n=n + 1, prev=prev)
        self.seq += 1
        event = read_event(self.seq, draft.subject, payload)
        self._last[prefix] = (n + 1, event.sha256)
        self.stored.append(Stored(self.seq, draft.subject, draft.id, payload))
        self.state = apply(self.state, event)
        return event

    def take(self) -> list[Stored]:
        """What was written since the last call."""
        taken, self.stored = self.stored, []
        return taken


async def fill(connection: Connection, events: int) -> LongLog:
    """Write at least so many events, whole sessions, in order and over one connection; every `BATCH` waits for the server."""
    log, sessions = LongLog(), 0
    log.open_desk()
    while log.seq < events:
        while len(log.stored) < BATCH and log.seq < events:
            log.session(sessions)
            sessions += 1
        *most, last = log.take()
        for message in most:
            await connection.link.client.publish(message.subject, message.payload, headers={MSG_ID: message.msg_id})
        answer = await connection.link.ask(last.subject, last.payload, ACK_S, {MSG_ID: last.msg_id})
        assert msgspec.json.decode(answer, type=_Ack).seq == last.seq, answer
    return log


async def make_store(directory: Path, events: int) -> LongLog:
    """A store of at least so many events, by a server that flushes lazily and is then stopped cleanly."""
    server = NatsServer(directory, lazy=True).start()
    try:
        connection = await connect(server.url, "provisioner")
        await ensure_stream(connection)
        log = await fill(connection, events)
        await connection.close()
    finally:
        server.stop()
    return log


if __name__ == "__main__":
    made = asyncio.run(make_store(Path(sys.argv[1]), int(sys.argv[2])))
    print(f"{made.seq} events, state {state_hash(made.state)}")
