"""Frames, fields and messages by themselves."""

import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from services.simulator.tws.asking import PlaceOrder
from services.simulator.tws.fields import UNSET_DOUBLE, FieldError, Reader, encode, split, text
from services.simulator.tws.framing import MAX_FRAME_BYTES, Deframer, FrameError, frame, pieces
from services.simulator.tws.inbound import MESSAGES, Unreadable, read_message
from shared.protocol.money import Exact
from tests.unit.simulator.tws.raw import placed

ROOT = Path(__file__).resolve().parents[4]


def taken(frames: Deframer) -> list[bytes]:
    """All payloads that are whole."""
    found = []
    while (payload := frames.next()) is not None:
        found.append(payload)
    return found


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_frames_arrive_whole_however_the_bytes_are_cut(size):
    data = b"API\0" + frame(b"v157..178") + frame(b"71\x002\x007\0\0") + frame(b"")
    frames, found = Deframer(), []
    for at in range(0, len(data), size):
        frames.feed(data[at : at + size])
        found += taken(frames)
    assert found == [b"v157..178", b"71\x002\x007\0\0", b""]


def test_bytes_that_are_no_frames_are_refused():
    frames = Deframer()
    frames.feed(b"GET / HTTP/1.1")
    with pytest.raises(FrameError, match="a connection begins with"):
        frames.next()
    frames = Deframer()
    frames.feed(b"API\0" + (MAX_FRAME_BYTES + 1).to_bytes(4, "big"))
    with pytest.raises(FrameError, match="at most 16777215"):
        frames.next()


def test_writes_are_cut_and_glued_as_told():
    frames = [frame(b"a"), frame(b"bc"), frame(b"d")]
    assert list(pieces(frames, 0, 1)) == frames
    assert list(pieces(frames, 0, 2)) == [frames[0] + frames[1], frames[2]]
    assert b"".join(pieces(frames, 1, 20)) == b"".join(frames)
    assert {len(piece) for piece in pieces(frames, 1, 20)} == {1}


def test_values_stand_on_the_wire_in_plain_notation():
    assert [text(value) for value in (Decimal("10.0"), Decimal("1E+3"), Exact("190.01"), True, False, None, 7, "a")] == [
        "10", "1000", "190.01", "1", "0", "", "7", "a",
    ]  # fmt: skip
    assert split(encode((1, None, "ü"))) == ("1", "", "ü")


def test_fields_that_are_something_else_are_refused_by_name():
    with pytest.raises(FieldError, match="does not end with NUL"):
        split(b"61\x001")
    with pytest.raises(FieldError, match="not UTF-8"):
        split(b"\xff\0")
    with pytest.raises(FieldError, match="orderId is no whole number: '٣'"):
        Reader(["٣"]).whole("orderId")
    with pytest.raises(FieldError, match="transmit is no flag"):
        Reader(["True"]).flag("transmit")
    with pytest.raises(FieldError, match="lmtPrice"):
        Reader(["1_0"]).number("lmtPrice")
    with pytest.raises(FieldError, match="b is missing"):
        Reader([]).text("b")


def test_unset_numbers_are_absent():
    assert Reader([UNSET_DOUBLE]).number("a") is None
    assert Reader([""]).number("a") is None
    assert Reader(["1e-05"]).number("a") == Exact("0.00001")


def test_the_captured_order_is_read_as_what_it_is():
    request = read_message(tuple(placed(4, "191.0", "my-ref-1")))
    assert isinstance(request, PlaceOrder)
    assert (request.order_id, request.contract.con_id, request.contract.exchange) == (4, 265598, "SMART")
    assert (request.action, request.quantity, request.order_type, request.limit) == ("BUY", Exact(10), "LMT", Exact(191))
    assert (request.tif, request.account, request.reference) == ("DAY", "DU1234567", "my-ref-1")
    assert (request.transmit, request.what_if, request.outside_hours) == (True, False, False)


@pytest.mark.parametrize("number", sorted(MESSAGES))
def test_one_field_too_few_or_too_many_is_never_misread(number):
    size = MESSAGES[number].size
    for count in (size - 1, size + 1):
        with pytest.raises(Unreadable, match=f"has {count} fields, {size} are expected"):
            read_message((str(number), *["0"] * (count - 1)))


def test_neither_the_plain_simulator_nor_the_executor_loads_what_only_the_gateway_needs():
    code = (
        "import sys, services.simulator.__main__, services.executor.__main__; "
        "sys.exit(', '.join(n for n in sys.modules if n == 'ib_async' or n.startswith('services.simulator.tws')) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
