"""Operator requests as they arrive: decoded strictly, and refused in plain words, field by field."""

from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import replace

from services.desk.operations.base import CommandRefused, Operation
from services.desk.operations.registry import COMMANDS
from shared.protocol.envelope import EnvelopeError, clean_text, decode
from shared.protocol.events import MAX_TEXT_CHARS

NAME: Final = "command"
MAX_SHOWN_CHARS: Final = 40


def read_command(payload: bytes) -> Operation:
    """Decode a request; raises `CommandRefused` that says what is accepted."""
    document = _document(payload)
    kind = _kind(document)
    try:
        command = decode(kind, payload)
    except EnvelopeError as error:
        raise CommandRefused("bad_request", _fault(document, kind)) from error
    reason = clean_text(command.reason, MAX_TEXT_CHARS).strip()
    if not reason:
        raise CommandRefused("bad_request", "a reason is needed")
    command.check()
    return replace(command, reason=reason)


def wanted_of(kind: type[Operation]) -> dict[str, str]:
    """The fields of a command and what is accepted in each."""
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: _words(hints[field.name]) for field in msgspec.structs.fields(kind)}


def _document(payload: bytes) -> dict[str, Any]:
    """A request as it was written; raises `CommandRefused` if it is no object."""
    try:
        return msgspec.json.decode(payload, type=dict[str, Any])
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        told = "a request is a JSON object with command, reason, request and the fields of its command"
        raise CommandRefused("bad_request", told) from error


def _kind(document: dict[str, Any]) -> type[Operation]:
    """The command that is asked for."""
    name = document.get(NAME)
    kind = COMMANDS.get(name) if isinstance(name, str) else None
    if kind is None:
        verb = "must be" if NAME in document else "is missing: it is"
        raise CommandRefused("bad_request", f"{NAME} {verb} one of {', '.join(sorted(COMMANDS))}")
    return kind


def _fault(document: dict[str, Any], kind: type[Operation]) -> str:
    """What is wrong with a request, field by field, in plain words."""
    hints, wanted = get_type_hints(kind, include_extras=True), wanted_of(kind)
    for field in msgspec.structs.fields(kind):
        if field.name not in document:
            if field.required:
                return f"{field.name} is missing: it is {wanted[field.name]}"
        elif not _fits(hints[field.name], document[field.name]):
            return f"{field.name} must be {wanted[field.name]}"
    extra = next((name for name in document if name not in wanted and name != NAME), None)
    if extra is None:
        return "the request cannot be read"
    return f"{extra[:MAX_SHOWN_CHARS]} is no field of a {document[NAME]}: it has {', '.join((NAME, *wanted))}"


def _fits(kind: Any, value: object) -> bool:
    """Whether one field alone would be accepted."""
    try:
        decode(kind, msgspec.json.encode(value))
    except EnvelopeError:
        return False
    return True


def _words(hint: Any) -> str:
    """What is accepted in a field, as its type says."""
    if get_origin(hint) is Annotated:
        found = next(
            (part.description for part in get_args(hint)[1:] if isinstance(part, msgspec.Meta) and part.description), None
        )
        return found or "something else"
    options = [_words(part) for part in get_args(hint) if part is not type(None)]
    return f"{options[0]}, or null" if options else "something else"
