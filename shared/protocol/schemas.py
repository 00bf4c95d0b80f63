"""JSON Schema (draft 2020-12) of every stored event, made from the types themselves: for readers in other languages.

A schema covers one whole payload, the envelope with the `data` of one type. What a schema cannot say (canonical key order, NFC,
that ids and subject belong together) stands in `shared.protocol.envelope`. msgspec's own generator cannot write the default of a
decimal field, hence this one, which knows just the kinds of types that stand in events.
"""

from enum import Enum
from typing import Any, Final

import msgspec
from msgspec import inspect

from shared.protocol.envelope import Envelope
from shared.protocol.events import AUTHORS_OF, EVENT_TYPES, VERSIONS
from shared.protocol.money import CANONICAL_NUMBER, MAX_NUMBER_CHARS, Exact

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
DEFINITIONS: Final = "$defs"

Schema = dict[str, Any]


def event_schema(name: str) -> Schema:
    """The schema of a stored event of type `name` in its newest version; raises `KeyError` for an unknown type."""
    parts: dict[str, Schema] = {}
    data = _schema(inspect.type_info(EVENT_TYPES[name]), parts)
    _schema(inspect.type_info(Envelope), parts)
    envelope, by = parts.pop("Envelope"), parts["By"]
    parts["By"] = {**by, "properties": {**by["properties"], "service": {"enum": list(AUTHORS_OF[name])}}}
    fixed = {"type": {"const": name}, "version": {"const": VERSIONS[name]}, "data": data}
    return {
        **envelope,
        "$schema": DIALECT,
        "$id": f"urn:propdesk:event:{name}:{VERSIONS[name]}",
        "description": parts[name]["description"],
        "properties": {**envelope["properties"], **fixed},
        DEFINITIONS: parts,
    }


def _schema(kind: inspect.Type, parts: dict[str, Schema]) -> Schema:
    """What may stand for a type; structs and enumerations go into `parts` by name. Raises `TypeError` for a kind without JSON."""
    match kind:
        case inspect.StrType():
            bounds = {"pattern": kind.pattern, "minLength": kind.min_length, "maxLength": kind.max_length}
            return {"type": "string", **{name: bound for name, bound in bounds.items() if bound is not None}}
        case inspect.IntType():
            return {"type": "integer"}
        case inspect.BoolType():
            return {"type": "boolean"}
        case inspect.NoneType():
            return {"type": "null"}
        case inspect.RawType():
            return {}
        case inspect.CustomType(cls=cls) if cls is Exact:
            return _named("Decimal", parts, _DECIMAL)
        case inspect.VarTupleType():
            return {"type": "array", "items": _schema(kind.item_type, parts)}
        case inspect.DictType():
            return {"type": "object", "additionalProperties": _schema(kind.value_type, parts)}
        case inspect.UnionType():
            return {"anyOf": [_schema(part, parts) for part in kind.types]}
        case inspect.EnumType():
            return _named(kind.cls.__name__, parts, _enumeration(kind.cls))
        case inspect.StructType():
            return _struct(kind, parts)
    raise TypeError(f"{type(kind).__name__} cannot stand in an event")


_DECIMAL: Final[Schema] = {
    "description": "A decimal in canonical form: no exponent, no trailing zeros, no minus before zero.",
    "type": "string",
    "pattern": f"^{CANONICAL_NUMBER.pattern}$",
    "maxLength": MAX_NUMBER_CHARS,
}


def _enumeration(kind: type[Enum]) -> Schema:
    return {"description": _said(kind), "enum": [member.value for member in kind]}


def _struct(kind: inspect.StructType, parts: dict[str, Schema]) -> Schema:
    """A closed object; what has a default may be absent from an event that was written before there was such a field."""
    name = kind.cls.__name__
    if name not in parts:
        parts[name] = {}  # its place, should it hold itself
        parts[name] = {
            "description": _said(kind.cls),
            "type": "object",
            "properties": {field.encode_name: _schema(field.type, parts) for field in kind.fields},
            "required": [field.encode_name for field in kind.fields if field.required],
            "additionalProperties": False,
        }
    return _reference(name)


def _named(name: str, parts: dict[str, Schema], schema: Schema) -> Schema:
    parts[name] = schema
    return _reference(name)


def _reference(name: str) -> Schema:
    return {"$ref": f"#/{DEFINITIONS}/{name}"}


def _said(kind: type[Enum] | type[msgspec.Struct]) -> str:
    """A type's own words, on one line."""
    return " ".join((kind.__doc__ or "").split())
