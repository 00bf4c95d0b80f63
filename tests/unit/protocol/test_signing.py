"""Signatures over stored bytes: exact, unambiguous, and never over a new encoding."""

import base64
import json

import pytest
from nacl.signing import SigningKey

from shared.protocol.envelope import Draft, EnvelopeError, read_event, seal
from shared.protocol.events import CancelOrdered
from shared.protocol.signing import (
    OPERATOR,
    USER,
    KeyTextError,
    is_signed_by,
    public_text,
    read_seed,
    seed_text,
    sign,
    verifier,
)

AT = "2022-10-03T14:30:00.000000Z"
KEY, OTHER = SigningKey(bytes(range(32))), SigningKey(bytes(range(1, 33)))
PUBLIC = public_text(KEY, USER)
LOOK_ALIKES = (
    "plain",
    '"sig":null',
    ',"sig":null,"trace":"00","type":"CancelOrdered","version":1}',
    f',"sig":"{"A" * 86}","trace":"00","type":"CancelOrdered","version":1}}',
    '\\","sig":null,\\"',
)


def unsigned(reason: str = "plain") -> bytes:
    draft = Draft("desk", "_desk", "request-1", AT, 7, CancelOrdered("20221003T1030-eq-1-1", reason))
    return seal(draft, desk="d", instance="1-a", n=1, prev=None)


def signed(reason: str = "plain") -> bytes:
    return sign(unsigned(reason), KEY)


@pytest.mark.parametrize("reason", LOOK_ALIKES)
def test_the_signature_covers_the_stored_bytes_with_null_in_its_place(reason: str) -> None:
    payload = signed(reason)
    signature = json.loads(payload)["sig"]
    assert len(signature) == 86
    assert payload.count(f'"sig":"{signature}"'.encode()) == 1
    before = payload.replace(f'"sig":"{signature}"'.encode(), b'"sig":null')
    assert before == unsigned(reason)
    KEY.verify_key.verify(before, base64.urlsafe_b64decode(signature + "=="))


@pytest.mark.parametrize("reason", LOOK_ALIKES)
def test_it_proves_who_signed_and_is_read_as_the_envelopes_field(reason: str) -> None:
    payload = signed(reason)
    assert is_signed_by(payload, PUBLIC)
    assert not is_signed_by(payload, public_text(OTHER, USER))
    event = read_event(1, "ev.desk._desk.CancelOrdered", payload)
    assert event.envelope.sig == json.loads(payload)["sig"]
    assert event.expect(CancelOrdered).reason == reason


def test_no_byte_of_a_signed_payload_can_be_another() -> None:
    payload = signed(LOOK_ALIKES[2])
    for at, byte in enumerate(payload):
        changed = payload[:at] + bytes((byte ^ 1,)) + payload[at + 1 :]
        assert not is_signed_by(changed, PUBLIC), changed


def test_another_spelling_of_the_same_signature_is_refused() -> None:
    payload = signed()
    signature = json.loads(payload)["sig"]
    last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    same = signature[:-1] + last[last.index(signature[-1]) + 1]
    assert base64.urlsafe_b64decode(same + "==") == base64.urlsafe_b64decode(signature + "==")
    for spelling in (same, f"{signature}==", signature.replace("-", "+")[:-1] + "="):
        assert not is_signed_by(payload.replace(signature.encode(), spelling.encode()), PUBLIC)


def test_what_is_not_signed_proves_nothing_and_what_is_signed_is_not_signed_again() -> None:
    assert not is_signed_by(unsigned(), PUBLIC)
    assert not is_signed_by(b"{}", PUBLIC)
    assert not is_signed_by(signed() + b" ", PUBLIC)
    with pytest.raises(EnvelopeError):
        sign(signed(), KEY)
    with pytest.raises(EnvelopeError):
        sign(b'{"sig":null}', KEY)


def test_key_texts_are_those_of_nats() -> None:
    assert PUBLIC.startswith("U")
    assert public_text(KEY, OPERATOR).startswith("O")
    assert seed_text(KEY, USER).startswith("SU")
    assert bytes(verifier(PUBLIC)) == bytes(KEY.verify_key)
    assert bytes(read_seed(seed_text(KEY, USER), USER)) == bytes(KEY)


@pytest.mark.parametrize("text", ["", "U", PUBLIC[:-1], PUBLIC.lower(), "A" + PUBLIC[1:], PUBLIC[:-1] + "A", "é" * 56])
def test_a_text_that_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(KeyTextError):
        verifier(text)


@pytest.mark.parametrize(
    "text", ["", "SU", PUBLIC, seed_text(KEY, OPERATOR), seed_text(KEY, USER)[:-1], seed_text(KEY, USER)[:-1] + "A"]
)
def test_a_text_that_is_no_seed_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(KeyTextError) as refused:
        read_seed(text, USER)
    assert not text or text not in str(refused.value)
    assert refused.value.__cause__ is None
