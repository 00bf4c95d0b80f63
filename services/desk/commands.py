"""Operator commands: read from a request, carried out by the desk's own loop, answered with the event they became."""

import asyncio
from typing import Annotated, Final

import msgspec

from services.desk.steps import cancel_draft
from services.desk.tally import DeskState
from shared.bus.answers import error_document
from shared.bus.participant import Participant
from shared.ledger.fold import find_order
from shared.protocol.envelope import EnvelopeError, canonical, clean_text, decode
from shared.protocol.events import MAX_TEXT_CHARS, CancelOrdered
from shared.protocol.ids import MAX_ORDER_ID_CHARS, event_id

SUBJECT: Final = "rpc.desk.command"
MAX_WAITING: Final = 100
MAX_ROUNDS: Final = 100
MAX_REQUEST_CHARS: Final = 64


class Cancel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Cancel one order. `request` is made by the caller: the same one again is the same event."""

    command: Annotated[str, msgspec.Meta(pattern="^cancel$")]
    order: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ORDER_ID_CHARS)]
    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT_CHARS)]
    request: Annotated[str, msgspec.Meta(pattern=rf"^[A-Za-z0-9_-]{{1,{MAX_REQUEST_CHARS}}}$")]


class Done(msgspec.Struct, frozen=True):
    """What a command became: the event's id and its sequence."""

    event: str
    seq: int


class CommandRefused(Exception):
    """A command that cannot be carried out: `code` for programs, the message for people."""

    def __init__(self, code: str, message: str) -> None:
        """Keep the code beside the message."""
        super().__init__(message)
        self.code = code


def read_command(payload: bytes) -> Cancel:
    """Decode a request; raises `CommandRefused` that says what is accepted."""
    try:
        command = decode(Cancel, payload)
    except EnvelopeError as error:
        raise CommandRefused("bad_request", _fault(payload)) from error
    reason = clean_text(command.reason, MAX_TEXT_CHARS).strip()
    if not reason:
        raise CommandRefused("bad_request", "a reason is needed")
    return msgspec.structs.replace(command, reason=reason)


_WANTED: Final = {
    "command": "the word cancel",
    "order": f"an order's id of 1 to {MAX_ORDER_ID_CHARS} characters",
    "reason": f"a text of 1 to {MAX_TEXT_CHARS} characters",
    "request": f"an id of 1 to {MAX_REQUEST_CHARS} letters, digits, _ and -",
}


def _fault(payload: bytes) -> str:
    """What is wrong with a request, field by field, in plain words."""
    try:
        document = msgspec.json.decode(payload)
    except (msgspec.DecodeError, ValueError):
        document = None
    if not isinstance(document, dict):
        return f"a request is a JSON object with {', '.join(_WANTED)}"
    for name, wanted in _WANTED.items():
        if name not in document:
            return f"{name} is missing: it is {wanted}"
        if not _fits(name, document[name]):
            return f"{name} must be {wanted}"
    extra = next((name for name in document if name not in _WANTED), None)
    return f"{extra} is no field of a request: it has {', '.join(_WANTED)}" if extra else "the request cannot be read"


def _fits(name: str, value: object) -> bool:
    """Whether one field alone would be accepted."""
    parts = {"command": "cancel", "order": "o", "reason": "r", "request": "q", name: value}
    try:
        msgspec.convert(parts, Cancel)
    except msgspec.ValidationError:
        return False
    return True


async def carry_out(participant: Participant[DeskState], command: Cancel) -> Done:
    """Append the command's event, unless it stands in the log already; raises `CommandRefused`, `BusError`."""
    for _ in range(MAX_ROUNDS):
        state = participant.state
        found = already_done(state, command)
        if found is not None:
            return found
        _check_order(state, command.order)
        event = await participant.append(cancel_draft(state.ledger, command.order, command.reason, command.request))
        if event is not None:
            return Done(event.id, event.seq)
    raise CommandRefused("busy", f"the log moved {MAX_ROUNDS} times meanwhile: ask again")


def already_done(state: DeskState, command: Cancel) -> Done | None:
    """The event of a repeated request; raises `CommandRefused` if the request id was used for something else."""
    found = state.tally.requests.get(command.request)
    if found is None:
        return None
    seq, data = found
    if data != CancelOrdered(command.order, command.reason):
        raise CommandRefused("request_reused", f"request {command.request} was another command (sequence {seq}): use a new id")
    return Done(event_id("desk", "CancelOrdered", command.request), seq)


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

    def __init__(self, participant: Participant[DeskState]) -> None:
        """Carry out commands with the desk's own part in the log."""
        self._participant = participant
        self._waiting: list[tuple[Cancel, asyncio.Future[bytes]]] = []
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
                document = canonical(await carry_out(self._participant, command))
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
