"""Signatures over stored bytes: made and checked on the payload as it stands, never on a new encoding of it.

What is signed is the payload with its `"sig":"…"` spliced to `"sig":null`. Canonical envelopes end with `sig`, `trace`, `type`
and `version`, so the place is found from the end: text in `data` that looks like a signature stands before it.
"""

import base64
import binascii
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

from shared.protocol.envelope import EnvelopeError

FIELD: Final = b',"sig":'
NULL: Final = b"null"
USER: Final = 20 << 3
OPERATOR: Final = 14 << 3
MAX_KEYS: Final = 1000
_SEED: Final = 18 << 3
"""First bytes of a key's text in NATS's own format: five bits make the first letter (U, O, S) in base32."""
_SEED_BYTES: Final = 36
_PUBLIC_BYTES: Final = 35
_CHECK_BYTES: Final = 2
_KINDS: Final = {USER: "U…", OPERATOR: "O…"}
_SIG: Final = rb'"[A-Za-z0-9_-]{85}[AQgw]"'
"""64 bytes; the last character carries two bits, its others are zero."""
_END: Final = re.compile(rb'(null|%s)(,"trace":"[0-9a-f-]*","type":"[A-Za-z]+","version":[0-9]+\})' % _SIG)

Sign = Callable[[bytes], bytes]
"""Makes a signed payload of an unsigned one."""


class KeyTextError(ValueError):
    """A text that is no key, without the text: it may be a secret."""


def _split(payload: bytes) -> tuple[bytes, bytes, bytes]:
    """What stands before the signature, the signature as JSON, what stands behind it; raises `EnvelopeError`."""
    at = payload.rfind(FIELD) + len(FIELD)
    end = _END.fullmatch(payload, at) if at >= len(FIELD) else None
    if end is None:
        raise EnvelopeError("the signature does not stand where canonical JSON has it")
    return payload[:at], end[1], end[2]


def sign(payload: bytes, key: SigningKey) -> bytes:
    """`payload` with its null signature replaced by that of `key`; raises `EnvelopeError` if it is signed already."""
    before, found, behind = _split(payload)
    if found != NULL:
        raise EnvelopeError("a signed payload is not signed again")
    signature = base64.urlsafe_b64encode(key.sign(payload).signature).rstrip(b"=")
    return b'%s"%s"%s' % (before, signature, behind)


def is_signed_by(payload: bytes, public: str) -> bool:
    """Whether `payload` carries a signature of the key `public`, over exactly these bytes; raises `KeyTextError`."""
    try:
        before, found, behind = _split(payload)
    except EnvelopeError:
        return False
    if found == NULL:
        return False
    try:
        verifier(public).verify(b"".join((before, NULL, behind)), base64.urlsafe_b64decode(found[1:-1] + b"=="))
    except BadSignatureError:
        return False
    return True


@lru_cache(maxsize=MAX_KEYS)
def verifier(public: str) -> VerifyKey:
    """The key behind its public text, `U…` of a user or `O…` of an operator; raises `KeyTextError` for anything else."""
    try:
        raw = base64.b32decode(public.encode("ascii"), casefold=False)
    except (ValueError, binascii.Error):
        raise KeyTextError("no public key: it must be 56 characters of base32") from None
    body, check = raw[:-_CHECK_BYTES], raw[-_CHECK_BYTES:]
    if len(raw) != _PUBLIC_BYTES or body[0] not in _KINDS or _checksum(body) != check:
        raise KeyTextError(f"no public key: it must be one of {', '.join(_KINDS.values())} with a valid check sum")
    return VerifyKey(body[1:])


def public_text(key: SigningKey, kind: int) -> str:
    """The public text of a key of `kind` (`USER` or `OPERATOR`)."""
    body = bytes((kind, *bytes(key.verify_key)))
    return base64.b32encode(body + _checksum(body)).decode("ascii")


def seed_text(key: SigningKey, kind: int) -> str:
    """The secret text of a key: `SU…` or `SO…`; the five bits of the kind stand across the first two bytes."""
    body = bytes((_SEED | kind >> 5, (kind & 31) << 3, *bytes(key)))
    return base64.b32encode(body + _checksum(body)).decode("ascii").rstrip("=")


def read_seed(text: str, kind: int) -> SigningKey:
    """The key of a secret text; raises `KeyTextError`, which never holds the text."""
    try:
        raw = base64.b32decode(text.encode("ascii") + b"=" * (-len(text) % 8))
    except (ValueError, binascii.Error):
        raise KeyTextError("it holds no seed of a key") from None
    if len(raw) != _SEED_BYTES:
        raise KeyTextError("it holds no seed of a key")
    key = SigningKey(raw[2:-_CHECK_BYTES])
    if seed_text(key, kind) != text:
        raise KeyTextError(f"it holds no seed of a key of this kind ({_KINDS[kind]}), or was changed")
    return key


def _checksum(body: bytes) -> bytes:
    """The check sum at the end of a key's text: CRC-16/XMODEM, low byte first."""
    return binascii.crc_hqx(body, 0).to_bytes(_CHECK_BYTES, "little")
