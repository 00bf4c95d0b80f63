"""Writes a log of any length into a desk's data directory, fast: three books trading day after day, with right links and folds.

Every event is signed with its author's key, which the log adopts and which lies in the directory, and the stream stands in the
account `LOG`: to services and commands it is the log of any other desk.

`python -m tests.support.long_log DIRECTORY EVENTS` makes such a directory.
"""

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from services.desk.desk_keys import DeskKeys
from services.desk.layout import Layout
from shared.bus.jetstream import Connection, connect, ensure_stream
from shared.bus.js_api import MSG_ID
from shared.bus.keyring import Signer
from shared.bus.ports import Stored
from shared.ledger.fold import apply
from shared.ledger.hashing import state_hash
from shared.ledger.state import State
from shared.protocol.envelope import Draft, Event, read_event
from shared.protocol.events import EventData
from tests.integration.rights.desk import AccountServer
from tests.support.desks import administrator
from tests.unit.journal.desk_log import BOOKS, DeskLog

BATCH: Final = 1000
ACK_S: Final = 60.0


class _Ack(msgspec.Struct):
    seq: int = 0


class LongLog(DeskLog):
    """Folds what it writes, and keeps only what `take` has not fetched yet. Signed with all keys of a desk, if any are given."""

    def __init__(self, keys: DeskKeys | None = None) -> None:
        if keys is None:
            super().__init__("1-long")
        else:
            secret = {name: keys.folder.read(name) for name in ("root", *keys.keys)}
            super().__init__("1-long", keys=keys.adopted(), signer=Signer(secret))
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
        payload = self._sealed(draft, n + 1, prev)
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


@dataclass(frozen=True)
class LongDesk:
    """A data directory with such a log, its keys, and where the log ends."""

    folder: Path
    keys: DeskKeys
    seq: int
    state_hash: str

    def server(self) -> AccountServer:
        """A server on its log that lets in whom the desk's own would, each with its rights; not started."""
        return AccountServer(self.folder, self.keys.keys)

    async def connect(self, server: AccountServer) -> Connection:
        """As the desk connects."""
        return await connect(server.url, "desk", user=self.keys.user("desk"))


async def fill(connection: Connection, events: int, log: LongLog) -> None:
    """Write at least so many events, whole sessions, in order and over one connection; every `BATCH` waits for the server."""
    sessions = 0
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


async def make_desk(folder: Path, events: int) -> LongDesk:
    """A data directory with at least so many events, stored by an administrator's server that flushes lazily and ends cleanly."""
    keys = DeskKeys.prepare(Layout(folder), BOOKS)
    log = LongLog(keys)
    with administrator(folder, lazy=True) as url:
        connection = await connect(url, "provisioner")
        await ensure_stream(connection)
        await fill(connection, events, log)
        await connection.close()
    return LongDesk(folder, keys, log.seq, state_hash(log.state))


if __name__ == "__main__":
    made = asyncio.run(make_desk(Path(sys.argv[1]), int(sys.argv[2])))
    print(f"{made.seq} events, state {made.state_hash}")
