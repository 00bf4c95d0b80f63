"""Lines from clients: strict, bounded, and told apart."""

import json

import pytest

from services.simulator.requests import OPS, PlaceOrder, Quotes, RequestError, read_request
from shared.protocol.market import Side
from shared.protocol.money import Exact

PLACE = {
    "id": 1,
    "op": "place",
    "ref": "r-1",
    "symbol": "AAPL",
    "currency": "USD",
    "side": "BUY",
    "quantity": "10",
    "limit": "5.50",
}


def refused(line: str | bytes) -> RequestError:
    with pytest.raises(RequestError) as caught:
        read_request(line.encode() if isinstance(line, str) else line)
    return caught.value


def test_amounts_come_as_text_and_become_exact():
    assert read_request(json.dumps(PLACE).encode()) == PlaceOrder(1, "r-1", "AAPL", "USD", Side.BUY, Exact(10), Exact("5.5"))


def test_all_the_ops():
    assert OPS == (
        "account", "advance", "cancel", "clock", "drop_session", "executions", "fault", "hello", "history", "orders", "place",
        "positions", "quotes", "script", "sync", "wait",
    )  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"nonsense",
        b"\xff\xfe",
        b'{"id":1,"op":"clock"} x',
        b'{"id":1,"op":"clock","x":' + b"[" * 100_000,
        b'{"id":NaN,"op":"clock"}',
        b"\0",
    ],
)
def test_what_is_no_json_is_said(line):
    error = refused(line)
    assert (error.code, error.request_id) == ("bad_json", None)


@pytest.mark.parametrize(
    "line",
    [
        "1",
        "[]",
        "{}",
        '{"id":"1","op":"clock"}',
        '{"id":-1,"op":"clock"}',
        '{"id":1.5,"op":"clock"}',
        '{"id":true,"op":"clock"}',
        '{"id":1}',
    ],
)
def test_a_request_without_number_or_op_is_said(line):
    error = refused(line)
    assert (error.code, error.request_id) == ("bad_request", None)


def test_an_unknown_op_is_answered_under_its_number_with_those_there_are():
    error = refused('{"id":7,"op":"halt"}')
    assert (error.code, error.request_id) == ("unknown_op", 7)
    assert "no op 'halt'; there are account, advance" in str(error)


@pytest.mark.parametrize(
    "changes",
    [
        {"quantity": 10},
        {"quantity": 10.5},
        {"quantity": "NaN"},
        {"quantity": "1e400"},
        {"quantity": "1" * 65},
        {"quantity": "1_0"},
        {"quantity": None},
        {"side": "buy"},
        {"side": "HOLD"},
        {"ref": ""},
        {"ref": "x" * 65},
        {"ref": "line\nbreak"},
        {"ref": "ü"},
        {"symbol": ""},
        {"symbol": "x" * 33},
        {"currency": "usd"},
        {"currency": "USDT"},
        {"extra": 1},
    ],
)
def test_a_field_that_is_wrong_is_refused_with_its_name(changes):
    error = refused(json.dumps(PLACE | changes))
    assert (error.code, error.request_id) == ("bad_request", 1)
    assert next(iter(changes)) in str(error)


def test_a_field_that_is_missing_is_named():
    line = {name: value for name, value in PLACE.items() if name != "limit"}
    assert "limit" in str(refused(json.dumps(line)))


def test_lists_are_bounded():
    key = {"symbol": "A", "currency": "USD"}
    assert isinstance(read_request(json.dumps({"id": 1, "op": "quotes", "keys": [key] * 1000}).encode()), Quotes)
    assert "keys" in str(refused(json.dumps({"id": 1, "op": "quotes", "keys": [key] * 1001})))


@pytest.mark.parametrize("to", ["2022-10-03T14:30:00Z", "2022-10-03T14:30:00.000000+00:00", "2022-10-03", "now", 5])
def test_times_have_one_spelling(to):
    assert refused(json.dumps({"id": 1, "op": "wait", "to": to})).code == "bad_request"
