"""Operator requests: what each holds, and what is wrong with one that is refused, in plain words."""

from typing import Annotated, Final

import msgspec

from shared.protocol.envelope import EnvelopeError, clean_text, decode
from shared.protocol.events import MAX_TEXT_CHARS
from shared.protocol.ids import MAX_ORDER_ID_CHARS

MAX_REQUEST_CHARS: Final = 64

Reason = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT_CHARS)]
Request = Annotated[str, msgspec.Meta(pattern=rf"^[A-Za-z0-9_-]{{1,{MAX_REQUEST_CHARS}}}$")]


class Cancel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Cancel one order. `request` is made by the caller: the same one again is the same event."""

    command: Annotated[str, msgspec.Meta(pattern="^cancel$")]
    order: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ORDER_ID_CHARS)]
    reason: Reason
    request: Request


class Rotate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Put a new key of an author, or of a book's source, in force. `request` as in `Cancel`."""

    command: Annotated[str, msgspec.Meta(pattern="^rotate$")]
    who: Annotated[str, msgspec.Meta(pattern="^[a-z][a-z0-9_]{0,11}$")]
    reason: Reason
    request: Request


Command = Cancel | Rotate


class CommandRefused(Exception):
    """A command that cannot be carried out: `code` for programs, the message for people."""

    def __init__(self, code: str, message: str) -> None:
        """Keep the code beside the message."""
        super().__init__(message)
        self.code = code


_COMMON: Final = {
    "reason": f"a text of 1 to {MAX_TEXT_CHARS} characters",
    "request": f"an id of 1 to {MAX_REQUEST_CHARS} letters, digits, _ and -",
}
_CANCEL: Final = {
    "command": "the word cancel",
    "order": f"an order's id of 1 to {MAX_ORDER_ID_CHARS} characters",
    **_COMMON,
}
_ROTATE: Final = {
    "command": "the word rotate",
    "who": "an author or a book: a lower-case letter, then at most 11 letters, digits or _",
    **_COMMON,
}
_FITTING: Final = {"order": "o", "who": "gate", "reason": "r", "request": "q"}


def read_command(payload: bytes) -> Command:
    """Decode a request; raises `CommandRefused` that says what is accepted."""
    document = _document(payload)
    rotates = document is not None and document.get("command") == "rotate"
    kind: type[Command] = Rotate if rotates else Cancel
    try:
        command = decode(kind, payload)
    except EnvelopeError as error:
        raise CommandRefused("bad_request", _fault(document, kind)) from error
    reason = clean_text(command.reason, MAX_TEXT_CHARS).strip()
    if not reason:
        raise CommandRefused("bad_request", "a reason is needed")
    return msgspec.structs.replace(command, reason=reason)


def _document(payload: bytes) -> dict[str, object] | None:
    """A request as it was written; None if it is no object."""
    try:
        return msgspec.json.decode(payload, type=dict[str, object])
    except (msgspec.DecodeError, ValueError):
        return None


def _fault(document: dict[str, object] | None, kind: type[Command]) -> str:
    """What is wrong with a request, field by field, in plain words."""
    all_wanted = _ROTATE if kind is Rotate else _CANCEL
    if document is None:
        return f"a request is a JSON object with {', '.join(all_wanted)}"
    for name, wanted in all_wanted.items():
        if name not in document:
            return f"{name} is missing: it is {wanted}"
        if not _fits(kind, name, document[name]):
            return f"{name} must be {wanted}"
    extra = next((name for name in document if name not in all_wanted), None)
    return f"{extra} is no field of a request: it has {', '.join(all_wanted)}" if extra else "the request cannot be read"


def _fits(kind: type[Command], name: str, value: object) -> bool:
    """Whether one field alone would be accepted."""
    own = {field: text for field, text in _FITTING.items() if field in kind.__struct_fields__}
    try:
        msgspec.convert({"command": kind.__name__.lower(), **own, name: value}, kind)
    except msgspec.ValidationError:
        return False
    return True
