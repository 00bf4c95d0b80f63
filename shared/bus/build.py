"""Which build this is, as far as a snapshot depends on it."""

import hashlib
from functools import cache
from pathlib import Path

import msgspec.inspect

from shared import ledger, protocol
from shared.protocol.envelope import Envelope, canonical, sha256_hex
from shared.protocol.events import EVENT_TYPES, VERSIONS


@cache
def protocol_hash() -> str:
    """SHA-256 over versions and fields of the envelope and of every type of event, down to the last nested value."""
    shapes = repr(msgspec.inspect.multi_type_info([Envelope, *EVENT_TYPES.values()]))
    return sha256_hex(canonical({"shapes": shapes, "versions": VERSIONS}))


@cache
def rules_hash() -> str:
    """SHA-256 over the source of everything that folding an event runs: no number that one may forget to raise.

    A changed comment discards a snapshot too, which costs one fold of the log.
    """
    digest = hashlib.sha256()
    for package in (ledger, protocol):
        for folder in package.__path__:
            for path in sorted(Path(folder).rglob("*.py")):
                digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
