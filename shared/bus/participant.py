"""One process's part in the log: what it folds, and what it appends under its own prefixes."""

import asyncio
import os
import secrets
from collections.abc import Callable
from typing import Final, TypeVar

import structlog
from msgspec.structs import replace

from shared.bus.borders import ARMED, border, kind_of
from shared.bus.follower import Follower
from shared.bus.keyring import Keyring, Signer
from shared.bus.ports import Append, BusError, Conflict, IdReused, Log, LogBroken, Rpc, Stopping, Stored
from shared.bus.prefixes import OnDrop, Prefix, Written
from shared.protocol.envelope import Draft, Event, canonical, read_event, seal, sha256_hex
from shared.protocol.events import ON_STATE

MAX_ROUNDS: Final = 100

S = TypeVar("S")

_log = structlog.get_logger("bus")


def instance_name() -> str:
    """`<pid>-<8 hex>`: which process this is; never part of an event's data."""
    return f"{os.getpid()}-{secrets.token_hex(4)}"


class Participant(Follower[S]):
    """Folds every event in order, and appends for its own prefixes (one per author, for agents one per book)."""

    def __init__(
        self,
        log: Log,
        rpc: Rpc,
        *,
        author: str,
        instance: str,
        desk: str,
        state: S,
        apply: Callable[[S, Event], S],
        types: frozenset[str] | None = None,
        keyring: Keyring | None = None,
        signer: Signer | None = None,
        on_drop: OnDrop | None = None,
    ) -> None:
        """Write as `author` for `desk`, unsigned without a `signer`; see `Follower` for the rest."""
        super().__init__(
            log,
            author=author,
            instance=instance,
            state=state,
            apply=apply,
            types=types,
            keyring=keyring,
            signer=signer,
            on_drop=on_drop,
        )
        self.rpc, self.desk = rpc, desk
        self._lock = asyncio.Lock()
        self._rounds = 0

    async def append(self, draft: Draft) -> Event | None:
        """Append `draft` and fold it; returns the stored event.

        None: the log moved, and was folded at least up to what its refusal names; decide again. An id that this writer has
        already written gives the event that stands there. Raises `Fenced`, `IdReused` if that event says something else,
        `Stopping` after `stop`, `BusError` after `MAX_ROUNDS` refusals in a row.
        """
        if draft.author != self.author:
            raise ValueError(f"{self.author} cannot append {draft.id}")
        async with self._lock:
            if self._stopping:
                raise Stopping(f"{draft.id} is not appended: this process is ending")
            self._fold_arrived()
            writer = self._prefixes.of(draft.author, draft.book)
            written = writer.ids.get(draft.id)
            if written is not None:
                return await self._already(draft, written)
            message, cursor = self._message(self._as_of_now(draft), writer), self.cursor
            if ARMED:
                await border(self.author, f"append.before.{kind_of(draft.type, draft.run)}")
            try:
                seq = await self._store(message)
            except Conflict as conflict:
                return await self._moved(draft, writer, conflict, cursor)
            if ARMED:
                await border(self.author, f"append.after.{kind_of(draft.type, draft.run)}")
            self._rounds = 0
            return await self._fold_own(Stored(seq, message.subject, message.msg_id, message.payload), writer)

    def _as_of_now(self, draft: Draft) -> Draft:
        """What was decided behind the last event that counts was decided behind all that was dropped since, too.

        Else a message that is no fact could stand at the end of the log and keep everybody from the next fact.
        """
        return replace(draft, as_of=self.cursor) if draft.as_of >= self.counted else draft

    def _message(self, draft: Draft, writer: Prefix) -> Append:
        signer = self._signer
        sign = None if signer is None else lambda payload: signer.sign(draft, payload)
        payload = seal(draft, desk=self.desk, instance=self.instance, n=writer.n + 1, prev=writer.prev, sign=sign)
        last_seq = draft.as_of if draft.type in ON_STATE else None
        return Append(draft.subject, draft.id, payload, writer.filter, writer.seq, last_seq)

    async def _store(self, message: Append) -> int:
        """Append it, and let nobody prevent that who has used its id before.

        No fact of ours has the id, for those are known up to the fence: what stands under it is another author's message, or one
        that was dropped. So it is stored without the id, and the fence keeps repeats out as ever.
        """
        try:
            return await self.log.append(message)
        except IdReused as error:
            _log.error("somebody else used the id of an event", alarm=True, id=message.msg_id, why=str(error))
            return await self.log.append(replace(message, by_id=False))

    async def _fold_own(self, stored: Stored, writer: Prefix) -> Event | None:
        """Apply what was appended: now if it is next, else when the reader has delivered all before it.

        None if it counts no more in its place, because of what came before it, and was dropped: decide again.
        """
        self._fold_arrived()
        event = None
        if stored.seq == self.cursor + 1:
            event = self._fold(stored, own=True)
            self._notify()
        await self.fold_to(stored.seq)
        written = writer.ids.get(stored.msg_id)
        if written is None and (found := await self.log.get(stored.seq)) is not None and found.payload == stored.payload:
            self._count_round(f"{stored.msg_id} was dropped")
            return None
        if written is None or written.seq != stored.seq:
            raise LogBroken(f"{stored.msg_id} was acknowledged at sequence {stored.seq}, but does not stand there")
        self._rounds = 0
        return event or read_event(stored.seq, stored.subject, stored.payload)

    async def _moved(self, draft: Draft, writer: Prefix, conflict: Conflict, cursor: int) -> Event | None:
        """Fold what the refusal names, which finds a foreign writer; then the own event may be among it, else decide again.

        In this order: looking for the own id first lets a second process with the same ids go on.
        """
        if conflict.last_seq < cursor:
            self._check_tail(await self.log.last_seq())
        await self.fold_to(conflict.last_seq)
        written = writer.ids.get(draft.id)
        if written is not None:
            self._rounds = 0
            return await self._already(draft, written)
        self._count_round(str(conflict))
        return None

    def _count_round(self, why: str) -> None:
        """One more append in a row that led to nothing; raises `BusError` when there are too many."""
        self._rounds += 1
        if self._rounds >= MAX_ROUNDS:
            raise BusError(f"the log refused {self._rounds} appends in a row, the last one {why}")

    async def _already(self, draft: Draft, written: Written) -> Event:
        """The event that this writer has stored under the id of `draft`; raises `IdReused` if its data differ."""
        if sha256_hex(canonical(draft.data)) != written.data_sha256:
            raise IdReused(f"{draft.id} stands at sequence {written.seq} with other data: two facts share an id")
        stored = await self.log.get(written.seq)
        event = None if stored is None else read_event(stored.seq, stored.subject, stored.payload)
        if event is None or event.id != draft.id:
            raise LogBroken(f"sequence {written.seq} no longer holds {draft.id}")
        return event
