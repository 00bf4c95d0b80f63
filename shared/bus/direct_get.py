"""Reading messages without a consumer: JetStream's direct get, one message or a batch, for those who may make no consumers."""

import asyncio
from typing import Final, NamedTuple

import msgspec
from nats import errors

from shared.bus.js_api import API_TIMEOUT_S, message_id
from shared.bus.lean_client import header, status
from shared.bus.link import Link
from shared.bus.ports import LogBroken, NoResponder, Stored, Unavailable
from shared.protocol.ids import STREAM

END_OF_BATCH: Final = b"204"
NOTHING: Final = b"404"
NO_RESPONDERS: Final = b"503"
MESSAGE: Final = b""
_SUBJECT: Final = b"Nats-Subject"
_SEQUENCE: Final = b"Nats-Sequence"
_PENDING: Final = b"Nats-Num-Pending"


class Got(NamedTuple):
    """Messages in order, and how many more there were when the last one was read."""

    messages: list[Stored]
    pending: int


class _Asked:
    """One open request."""

    def __init__(self, many: bool) -> None:
        self.many = many
        self.messages: list[Stored] = []
        self.answer: asyncio.Future[Got] = asyncio.get_running_loop().create_future()

    def hear(self, payload: bytes, headers: bytes) -> None:
        """Take one reply."""
        if self.answer.done():
            return
        said = status(headers)
        if said == MESSAGE:
            self.messages.append(_stored(payload, headers))
            if not self.many:
                self.answer.set_result(Got(self.messages, 0))
            return
        if said == NO_RESPONDERS:
            self.answer.set_exception(NoResponder("nobody answers a direct get"))
        elif said not in {END_OF_BATCH, NOTHING}:
            self.answer.set_exception(Unavailable(f"a direct get was answered with status {said.decode('ascii', 'replace')}"))
        else:
            self.answer.set_result(Got(self.messages, int(header(headers, _PENDING) or 0)))

    def fail(self, why: str) -> None:
        """It will never be answered."""
        if not self.answer.done():
            self.answer.set_exception(Unavailable(why))


class DirectGet:
    """Direct gets over one connection; several may be open at once."""

    def __init__(self, link: Link) -> None:
        """Nothing is subscribed before the first request."""
        self._link = link
        self._inbox = ""
        self._count = 0
        self._open: dict[bytes, _Asked] = {}

    async def one(self, request: dict[str, object]) -> Stored | None:
        """The message by `seq` or `last_by_subj`, None if there is none; raises `Unavailable`, `NoResponder`."""
        got = await self._ask(request, many=False)
        return got.messages[0] if got.messages else None

    async def batch(self, after: int, most: int) -> Got:
        """At most `most` messages behind `after`; raises `Unavailable`, `NoResponder`, `LogBroken` on a gap."""
        got = await self._ask({"seq": after + 1, "batch": most, "next_by_subj": "ev.>"}, many=True)
        for expected, stored in enumerate(got.messages, after + 1):
            if stored.seq != expected:
                raise LogBroken(f"sequences {expected} to {stored.seq - 1} are missing from the log")
        return got

    async def _ask(self, request: dict[str, object], *, many: bool) -> Got:
        if not self._inbox:
            self._inbox = self._link.client.new_inbox()
            await self._link.client.subscribe_direct(f"{self._inbox}.*", self._heard)
            self._link.listen(self._connection_changed)
        self._count += 1
        token, asked = b"%d" % self._count, _Asked(many)
        self._open[token] = asked
        timer = asyncio.get_running_loop().call_later(API_TIMEOUT_S, asked.fail, f"no direct get within {API_TIMEOUT_S:g} s")
        try:
            subject = f"{self._link.api}.DIRECT.GET.{STREAM}"
            await self._link.client.publish(subject, msgspec.json.encode(request), reply=f"{self._inbox}.{self._count}")
            return await asked.answer
        except errors.Error as error:
            raise Unavailable(f"cannot ask for messages: {error}") from error
        finally:
            timer.cancel()
            del self._open[token]

    def _heard(self, subject: bytes, _reply: bytes, payload: bytes, headers: bytes) -> None:
        asked = self._open.get(subject.rpartition(b".")[2])
        if asked is not None:
            asked.hear(payload, headers)

    def _connection_changed(self) -> None:
        """Answers that were under way are lost."""
        for asked in list(self._open.values()):
            asked.fail("the connection to the server broke")


def _stored(payload: bytes, headers: bytes) -> Stored:
    """What the server says of the message counts, not what its author wrote under the same names."""
    subject = header(headers, _SUBJECT, last=True).decode("utf-8", "replace")
    return Stored(int(header(headers, _SEQUENCE, last=True)), subject, message_id(headers), payload)
