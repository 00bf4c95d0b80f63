"""The way from an event's older versions to the one that this build knows.

The stored bytes stay as they are, for hashes and signatures; only the `data` that folds see is brought up to date, one version
after another.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

Fields = dict[str, object]
Upcast = Callable[[Fields], Fields]
"""Makes the `data` of one version from that of the version before; decimals and times are text in both."""

Upcasts = Mapping[tuple[str, int], Upcast]
"""By event type and the old version: the way to the next one."""

UPCASTS: Final[Upcasts] = MappingProxyType({})
"""Every version that was ever released and is no longer the newest has its entry here, for ever. There is none yet."""


class UpcastError(ValueError):
    """Data of an old version that cannot be brought up to date, or of a version that nobody here knows."""


def upcast(kind: str, version: int, data: msgspec.Raw, current: int, upcasts: Upcasts) -> Fields:
    """The `data` of an event of type `kind` as version `current` has it; raises `UpcastError` for a newer or unknown version."""
    if version > current:
        raise UpcastError(f"{kind} has version {version}, this build knows up to {current}: use a newer one")
    fields = _fields(kind, version, data)
    for old in range(version, current):
        step = upcasts.get((kind, old))
        if step is None:
            raise UpcastError(f"{kind} has version {version}, and there is no way from version {old} to {old + 1}")
        try:
            fields = step(fields)
        except (LookupError, TypeError, ValueError) as error:
            raise UpcastError(f"{kind} does not fit its version {old}: {type(error).__name__}: {error}") from error
    return fields


def _fields(kind: str, version: int, data: msgspec.Raw) -> Fields:
    """The data as plain values."""
    try:
        return msgspec.json.decode(data, type=Fields)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UpcastError(f"{kind} of version {version} holds no object: {error}") from error
