"""Operator commands: read from a request, carried out by the desk's own loop, answered with the event they became."""

import asyncio
from typing import Final

import msgspec

from services.desk.requests import Cancel, Command, CommandRefused, Rotate, read_command
from services.desk.rotation import Rotation, RotationRefused
from services.desk.steps import cancel_draft
from services.desk.tally import DeskState
from shared.bus.answers import error_document
from shared.bus.keys import KeyFileError
from shared.bus.participant import Participant
from shared.ledger.fold import find_order
from shared.protocol.envelope import Draft, canonical
from shared.protocol.events import CancelOrdered, KeysAdopted
from shared.protocol.ids import event_id

SUBJECT: Final = "rpc.desk.command"
MAX_WAITING: Final = 100
MAX_ROUNDS: Final = 100


class Done(msgspec.Struct, frozen=True):
    """What a command became: the event's id and its sequence."""

    event: str
    seq: int


async def carry_out(participant: Participant[DeskState], command: Command, rotation: Rotation | None = None) -> Done:
    """Append the command's event, unless it stands in the log already; raises `CommandRefused`, `BusError`."""
    done = await _appended(participant, command, rotation)
    if rotation is not None and isinstance(command, Rotate):
        await rotation.settle(participant.state.ledger)
    return done


async def _appended(participant: Participant[DeskState], command: Command, rotation: Rotation | None) -> Done:
    """The command's event."""
    for _ in range(MAX_ROUNDS):
        state = participant.state
        found = already_done(state, command)
        if found is not None:
            return found
        event = await participant.append(_draft(state, command, rotation))
        if event is not None:
            return Done(event.id, event.seq)
    raise CommandRefused("busy", f"the log moved {MAX_ROUNDS} times meanwhile: ask again")


def _draft(state: DeskState, command: Command, rotation: Rotation | None) -> Draft:
    """The command as an event; raises `CommandRefused`."""
    if isinstance(command, Cancel):
        _check_order(state, command.order)
        return cancel_draft(state.ledger, command.order, command.reason, command.request)
    if rotation is None:
        raise CommandRefused("no_keys", "this desk has no keys")
    try:
        return rotation.draft(state.ledger, command.who, command.reason, command.request)
    except RotationRefused as error:
        raise CommandRefused(error.code, str(error)) from error
    except (OSError, KeyFileError) as error:
        raise CommandRefused("no_file", f"the new key cannot be written: {error}") from error


def already_done(state: DeskState, command: Command) -> Done | None:
    """The event of a repeated request; raises `CommandRefused` if the request id was used for something else."""
    found = state.tally.requests.get(command.request)
    if found is None:
        return None
    seq, data = found
    if not _is_said(command, data):
        raise CommandRefused("request_reused", f"request {command.request} was another command (sequence {seq}): use a new id")
    return Done(event_id("desk", type(data).__name__, command.request), seq)


def _is_said(command: Command, data: CancelOrdered | KeysAdopted) -> bool:
    """Whether an event is what the command asks for."""
    if isinstance(command, Cancel):
        return data == CancelOrdered(command.order, command.reason)
    return isinstance(data, KeysAdopted) and data.reason == command.reason


def _check_order(state: DeskState, order: str) -> None:
    """Refuse an order that is unknown or has ended."""
    found = find_order(state.ledger, order)
    if found is not None and found.state.is_open:
        return
    end = state.tally.ended.get(order)
    if end is not None:
        raise CommandRefused("order_ended", f"order {order} has ended already: {end}")
    raise CommandRefused("unknown_order", f"no order {order} in the ledger: `propdesk status` lists the open ones")


class Commands:
    """Requests that wait until the desk's loop has a moment, at most `MAX_WAITING` of them."""

    def __init__(self, participant: Participant[DeskState], rotation: Rotation | None = None) -> None:
        """Carry out commands with the desk's own part in the log."""
        self._participant, self._rotation = participant, rotation
        self._waiting: list[tuple[Command, asyncio.Future[bytes]]] = []
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
