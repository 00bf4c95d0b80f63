"""The journal's shell: folds the whole log, writes read models lazily, says how far it has written, and appends its hashes."""

import time
from contextlib import suppress
from typing import Final

from services.journal.hashes import next_draft
from services.journal.recorder import Recorder, agree
from services.journal.settings import JournalSettings
from services.journal.store import Store
from shared.bus.participant import Participant
from shared.bus.ports import Stopping, Stored
from shared.bus.service import Service
from shared.ledger.fold import apply
from shared.ledger.state import State
from shared.protocol.envelope import Event, canonical

GATHER_S: Final = 0.03
"""How long events are let gather after some were folded."""


class Journal:
    """One run of the journal; its methods are the parts of `shared.bus.service.run_service`."""

    def __init__(self) -> None:
        """Nothing is opened before `prepare`."""
        self._store: Store | None = None
        self._recorder: Recorder | None = None

    @property
    def recorder(self) -> Recorder:
        """What writes; raises `LookupError` before `prepare`."""
        if self._recorder is None:
            raise LookupError("the journal has no database before it was prepared")
        return self._recorder

    async def prepare(self, service: Service[JournalSettings]) -> None:
        """Open the database and make sure that it belongs to this log; raises `DatabaseInUse` or `StoreFailed`."""
        self._store = Store(service.settings.database)
        await agree(self._store, service.log)
        self._recorder = Recorder(self._store)
        service.snapshot_limit = self._recorder.written
        service.details = lambda: {"flushed": self.written(service.participant)}

    def apply(self, state: State, event: Event) -> State:
        """Fold one event and gather its rows; the fold comes first, so that what it refuses has no rows either."""
        state = apply(state, event)
        self.recorder.record(event, state)
        return state

    def dropped(self, stored: Stored, why: str) -> None:
        """Gather the row of a message that is no fact."""
        self.recorder.drop(stored, why)

    async def serve(self, service: Service[JournalSettings]) -> None:
        """Write what was folded, in batches, and append what is owed until the service stops; then write the rest."""

        async def status(_payload: bytes) -> bytes:
            if not service.stopping:
                await service.participant.advance(0)
                self.recorder.flush()
            return self.status(service.participant)

        try:
            await service.rpc.serve("rpc.journal.status", status)
            with suppress(Stopping):
                while not service.stopping:
                    await self._work(service)
            self.recorder.flush()
        finally:
            self.close()

    async def _work(self, service: Service[JournalSettings]) -> None:
        """Append one event that is owed, else wait for the log to move and let some more events gather."""
        self.recorder.flush_if_due()
        draft = next_draft(service.participant.state)
        if draft is None:
            if await service.participant.advance(self.recorder.wait_s()):
                _gather()
        elif (event := await service.participant.append(draft)) is not None:
            if event.type == "HaltOrdered":
                service.logger.error("hashes differ: the desk is halted", alarm=True, id=event.id, seq=event.seq)
            else:
                service.logger.info("appended", id=event.id, seq=event.seq)

    def status(self, participant: Participant[State]) -> bytes:
        """The answer on `rpc.journal.status`: `seq` is written, `folded` known."""
        return canonical({"seq": self.written(participant), "folded": participant.cursor})

    def written(self, participant: Participant[State]) -> int:
        """Up to which sequence everything is in the database; a message that is no event needs no writing."""
        return self.recorder.written if self.recorder.pending else participant.cursor

    def close(self) -> None:
        """Close the database."""
        if self._store is not None:
            self._store.close()


def _gather() -> None:
    """Stand still, the whole process, while the kernel gathers what arrives.

    Blocking is the point: an asyncio sleep would still be woken for every message, and that costs five times what its rows do
    (measured: 4,000 events at 700 a second took 0.82 s of CPU so, 0.42 s in this way). Nobody waits for the journal.
    """
    time.sleep(GATHER_S)
