"""Raw header blocks as the server and other writers send them."""

import pytest

from shared.bus.js_api import message_id
from shared.bus.lean_client import header, status


@pytest.mark.parametrize(
    ("block", "wanted"),
    [
        (b"NATS/1.0\r\nNats-Msg-Id: gate:Verdict:r1\r\nNats-Expected-Stream: EV\r\n\r\n", "gate:Verdict:r1"),
        (b"NATS/1.0\r\nNats-Expected-Stream: EV\r\nNats-Msg-Id:close\r\n\r\n", "close"),
        (b"NATS/1.0\r\nX: y Nats-Msg-Id: no\r\nNats-Msg-Id:  spaced \t\r\n\r\n", "spaced"),
        (b"NATS/1.0\r\nNats-Msg-Id: \xc3\xa4\r\n\r\n", "ä"),
        (b"NATS/1.0\r\nNats-Msg-Id-Other: x\r\n\r\n", ""),
        (b"NATS/1.0\r\n\r\n", ""),
        (b"", ""),
    ],
)
def test_the_message_id_is_the_value_of_its_own_line(block: bytes, wanted: str) -> None:
    assert message_id(block) == wanted


def test_a_status_line_has_a_status_and_maybe_headers_and_a_message_has_none() -> None:
    expired = b"NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: 7\r\nNats-Pending-Bytes: 0\r\n\r\n"
    assert (status(expired), header(expired, b"Nats-Pending-Messages")) == (b"408", b"7")
    assert status(b"NATS/1.0 503\r\n\r\n") == b"503"
    assert status(b"NATS/1.0\r\nNats-Msg-Id: x\r\n\r\n") == b""
    assert status(b"") == b""


def test_of_several_headers_of_one_name_the_last_is_the_servers() -> None:
    block = b"NATS/1.0\r\nNats-Sequence: 777\r\nNats-Stream: EV\r\nNats-Sequence: 3\r\n\r\n"
    assert (header(block, b"Nats-Sequence"), header(block, b"Nats-Sequence", last=True)) == (b"777", b"3")
    assert header(block, b"Nats-Subject", last=True) == b""
