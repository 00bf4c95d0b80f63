"""Operator commands: carried out by the desk's own loop, answered with the event they became."""

import asyncio
from typing import Final

import msgspec
from msgspec.structs import replace

from services.desk.operations.base import CommandRefused, Operation, Tools
from services.desk.operations.keys import Rotate
from services.desk.requests import read_command
from services.desk.rotation import Rotation
from services.desk.tally import DeskState
from shared.bus.answers import error_document
from shared.bus.participant import Participant
from shared.protocol.envelope import EnvelopeError, canonical
from shared.protocol.events import BookOpened
from shared.protocol.ids import about_of, event_id

SUBJECT: Final = "rpc.desk.command"
MAX_WAITING: Final = 100
MAX_ROUNDS: Final = 100


class Done(msgspec.Struct, frozen=True):
    """What a command became: the event's id and its sequence."""

    event: str
    seq: int


async def carry_out(participant: Participant[DeskState], command: Operation, rotation: Rotation | None = None) -> Done:
    """Append the command's event, unless it stands in the log already; raises `CommandRefused`, `BusError`."""
    done = await _appended(participant, command, Tools(rotation))
    if rotation is not None and isinstance(command, Rotate):
        await rotation.settle(participant.state.ledger)
    return done


async def _appended(participant: Participant[DeskState], command: Operation, tools: Tools) -> Done:
    """The command's event; what comes before it (a book's opening) is appended on the way."""
    for _ in range(MAX_ROUNDS):
        state = participant.state
        found = already_done(state, command)
        if found is not None:
            return found
        draft = replace(command.draft(state, tools), as_of=participant.cursor)
        try:
            event = await participant.append(draft)
        except EnvelopeError as error:
            raise CommandRefused("too_large", str(error)) from error
        if event is not None and event.type != BookOpened.__name__ and about_of(event.id) == command.request:
            return Done(event.id, event.seq)
    raise CommandRefused("busy", f"the log moved {MAX_ROUNDS} times meanwhile: ask again")


def already_done(state: DeskState, command: Operation) -> Done | None:
    """The event of a repeated request; raises `CommandRefused` if the request id was used for something else."""
    found = state.tally.requests.get(command.request)
    if found is None:
        return None
    if not command.is_said_by(found.book, found.data):
        told = f"request {command.request} was another command (sequence {found.seq}): use a new id"
        raise CommandRefused("request_reused", told)
    return Done(event_id("desk", type(found.data).__name__, command.request), found.seq)


class Commands:
    """Requests that wait until the desk's loop has a moment, at most `MAX_WAITING` of them."""

    def __init__(self, participant: Participant[DeskState], rotation: Rotation | None = None) -> None:
        """Carry out commands with the desk's own part in the log."""
        self._participant, self._rotation = participant, rotation
        self._waiting: list[tuple[Operation, asyncio.Future[bytes]]] = []
        self._closed = False

    async def handle(self, payload: bytes) -> bytes:
        """The answer to one request: `{"event", "seq"}` or `{"error": {"code", "message"}}`."""
        try:
            command = read_command(payload)
        except CommandRefused as error:
            return error_document(error.code, str(error))
        if self._closed or len(self._waiting) >= MAX_WAITING:
            return error_document("busy", "the desk is ending" if self._closed else "too many commands wait: ask again")
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting.append((command, answer))
        self._participant.wake()
        return await answer

    async def work(self) -> None:
        """Carry out what waits; raises `BusError`."""
        while self._waiting:
            command, answer = self._waiting.pop(0)
            try:
                document = canonical(await carry_out(self._participant, command, self._rotation))
            except CommandRefused as error:
                document = error_document(error.code, str(error))
            except BaseException:
                self._waiting.insert(0, (command, answer))
                raise
            if not answer.done():
                answer.set_result(document)

    def close(self) -> None:
        """Refuse what still waits and whatever comes: nothing is appended from here on."""
        self._closed = True
        for _, answer in self._waiting:
            if not answer.done():
                answer.set_result(error_document("ending", "the desk ended before it carried this out"))
        self._waiting.clear()
