"""The JSON lines, over a real socket with a real process."""

import json
import time

import pytest

from tests.integration.simulator.client import CLOSE, NEXT_SLOT, SLOT

KEY = {"symbol": "A", "currency": "USD"}


@pytest.fixture
def client(connect):
    return connect()


def test_hello_says_who_is_there_and_what_is_played(simulator, connect):
    import hashlib

    answer = connect(None).ask("hello", client="executor")
    assert answer == {
        "id": 1,
        "ok": True,
        "clock": None,
        "server": "propdesk-simulator",
        "protocol": 1,
        "clock_mode": "step",
        "account": "DU1234567",
        "base_currency": "USD",
        "currency": "USD",
        "data_sha256": hashlib.sha256(simulator.data.read_bytes()).hexdigest(),
        "first_session": "2022-10-03",
        "last_session": "2022-10-05",
    }


def test_nothing_is_answered_before_hello(connect):
    client = connect(None)
    assert client.ask("clock")["error"]["code"] == "hello_first"
    assert client.ask("hello", client="x")["ok"]


def test_the_clock_moves_by_advance_alone_and_never_back(client):
    assert client.ask("clock")["clock"] is None
    assert client.ask("advance", **SLOT)["clock"] == SLOT["to"]
    assert client.ask("advance", **SLOT)["clock"] == SLOT["to"]
    earlier = {"to": "2022-10-03T14:30:00.000000Z", "step": "slot", "session": "2022-10-03"}
    assert client.ask("advance", **earlier) == {"id": 5, "ok": True, "clock": SLOT["to"]}


def test_an_advance_that_fits_no_session_is_refused(client):
    answer = client.ask("advance", to="2022-10-04T20:00:00.000000Z", step="slot", session="2022-10-04")
    assert (answer["ok"], answer["error"]["code"]) == (False, "bad_advance")
    assert client.ask("clock")["clock"] is None


def test_before_the_first_advance_the_market_is_unknown(client):
    assert client.ask("quotes", keys=[KEY])["error"]["code"] == "no_clock"
    assert client.ask("history", symbols=["A"], count=1)["error"]["code"] == "no_clock"


def test_quotes_come_with_ticks_rates_and_the_session(client):
    client.ask("advance", **SLOT)
    answer = client.ask("quotes", keys=[KEY, {"symbol": "A", "currency": "EUR"}])
    unknown = {"bid": None, "ask": None, "last": None, "close": None}
    assert answer["quotes"] == [
        {**KEY, "kind": "sim", "at": SLOT["to"], "bid": "49.99", "ask": "50.01", "last": "50", "close": "100"},
        {"symbol": "A", "currency": "EUR", "kind": "sim", "at": SLOT["to"], **unknown},
    ]
    assert answer["ticks"] == {"A:USD": "0.01"}
    assert answer["fx"] == {"USD": "1"}
    hours = {"day": "2022-10-04", "opens_at": "2022-10-04T13:30:00.000000Z", "closes_at": "2022-10-04T20:00:00.000000Z"}
    assert answer["sessions"] == {"SMART": {"open": True, **hours}}
    client.ask("advance", **CLOSE)
    answer = client.ask("quotes", keys=[KEY])
    assert answer["quotes"][0]["last"] == "51"
    assert answer["sessions"] == {"SMART": {"open": False, **hours}}


def test_history_ends_before_the_running_session(client):
    client.ask("advance", **SLOT)
    before = {"date": "2022-10-03", "open": "98", "high": "101", "low": "97", "close": "100", "volume": None}
    assert client.ask("history", symbols=["A", "ZZZ"], count=5)["bars"] == {"A": [before]}
    client.ask("advance", **CLOSE)
    assert [bar["date"] for bar in client.ask("history", symbols=["A"], count=5)["bars"]["A"]] == ["2022-10-03", "2022-10-04"]


def test_an_order_that_fills_at_once_is_filled_in_its_own_answer(client):
    client.ask("advance", **SLOT)
    order = client.place("A", quantity="100", limit="51", ref="20221004T1030-demo-1-1")
    assert order == {
        "perm_id": 1,
        "client": "test",
        "ref": "20221004T1030-demo-1-1",
        "symbol": "A",
        "currency": "USD",
        "side": "BUY",
        "quantity": "100",
        "limit": "51",
        "status": "filled",
        "filled": "100",
        "remaining": "0",
        "message": "",
        "at": SLOT["to"],
    }
    assert client.ask("executions")["executions"] == [
        {
            "execution": "00000001.01.01",
            "n": 1,
            "perm_id": 1,
            "ref": "20221004T1030-demo-1-1",
            "symbol": "A",
            "currency": "USD",
            "side": "BUY",
            "quantity": "100",
            "price": "50.01",
            "fee": "1",
            "fee_currency": "USD",
            "fx": "1",
            "at": SLOT["to"],
        }
    ]
    assert client.ask("positions")["positions"] == [{"symbol": "A", "currency": "USD", "quantity": "100"}]
    account = client.ask("account")
    assert (account["cash"], account["net_liquidation"], account["end"]) == ({"USD": "994998"}, "999998", True)


def test_an_order_that_rests_fills_at_the_close(client):
    client.ask("advance", **SLOT)
    assert client.place("B", quantity="10", limit="19.56")["status"] == "working"
    assert client.ask("orders", open_only=True)["orders"][0]["perm_id"] == 1
    client.ask("advance", **CLOSE)
    assert client.ask("orders", open_only=True) == {"id": 6, "ok": True, "clock": CLOSE["to"], "orders": [], "end": True}
    fill = client.ask("executions")["executions"][0]
    assert (fill["price"], fill["at"]) == ("19.555", CLOSE["to"])


def test_two_orders_with_one_reference_are_two_orders(client):
    client.ask("advance", **SLOT)
    client.place("B", ref="same")
    client.place("B", ref="same")
    client.place("B", ref="other")
    assert [order["perm_id"] for order in client.ask("orders", ref="same")["orders"]] == [1, 2]
    assert client.ask("orders", ref="none") == {"id": 7, "ok": True, "clock": SLOT["to"], "orders": [], "end": True}
    client.ask("advance", **CLOSE)
    assert client.ask("positions")["positions"][0]["quantity"] == "30"


def test_a_cancel_answers_the_final_state_whatever_it_is(client):
    client.ask("advance", **SLOT)
    client.place("A", limit="51")
    client.place("B", limit="1")
    assert client.ask("cancel", perm_id=1)["order"]["status"] == "filled"
    assert client.ask("cancel", perm_id=2)["order"]["status"] == "cancelled"
    assert client.ask("cancel", perm_id=2)["order"]["status"] == "cancelled"
    assert client.ask("cancel", perm_id=3)["error"]["code"] == "unknown_order"


def test_a_rejected_order_is_an_answer_and_is_remembered(client):
    client.ask("advance", **SLOT)
    order = client.place("B", side="SELL", ref="short")
    assert (order["status"], order["perm_id"]) == ("rejected", 1)
    assert "short sale" in order["message"]
    assert client.ask("orders", ref="short")["orders"] == [order]


def test_lists_can_be_read_in_parts(client):
    client.ask("advance", **SLOT)
    for _ in range(5):
        client.place("A", limit="51", quantity="1")
    part = client.ask("executions", limit=2)
    assert ([fill["n"] for fill in part["executions"]], part["end"]) == ([1, 2], False)
    part = client.ask("executions", after=3)
    assert ([fill["n"] for fill in part["executions"]], part["end"]) == ([4, 5], True)
    part = client.ask("orders", after=1, limit=3)
    assert ([order["perm_id"] for order in part["orders"]], part["end"]) == ([2, 3, 4], False)


def test_many_requests_at_once_are_answered_in_order(client):
    client.ask("advance", **SLOT)
    numbers = [
        client.send("place", ref=f"r{n}", symbol="B", currency="USD", side="BUY", quantity="1", limit="5") for n in range(50)
    ]
    numbers.append(client.send("sync"))
    answers = [client.read() for _ in numbers]
    assert [answer["id"] for answer in answers] == numbers
    assert [answer["order"]["perm_id"] for answer in answers[:-1]] == list(range(1, 51))
    assert answers[-1] == {"id": numbers[-1], "ok": True, "clock": SLOT["to"]}


def test_a_wait_is_answered_when_its_time_has_come_and_blocks_nothing(client, connect):
    client.ask("advance", **SLOT)
    waiting = client.send("wait", to=CLOSE["to"])
    later = client.send("wait", to=NEXT_SLOT["to"])
    assert client.ask("clock")["clock"] == SLOT["to"]
    assert client.silent()
    desk = connect("desk")
    desk.ask("advance", **CLOSE)
    assert client.read() == {"id": waiting, "ok": True, "clock": CLOSE["to"]}
    assert client.silent()
    desk.ask("advance", **NEXT_SLOT)
    assert client.read()["id"] == later
    assert client.ask("wait", to=SLOT["to"])["clock"] == NEXT_SLOT["to"]


def test_waits_are_bounded(client):
    for _ in range(64):
        client.send("wait", to=CLOSE["to"])
    assert client.ask("wait", to=CLOSE["to"])["error"]["code"] == "too_many_waits"


def test_bad_lines_are_answered_and_the_connection_goes_on(client):
    client.raw(b"nonsense\n{}\n")
    assert [client.read()["error"]["code"] for _ in range(2)] == ["bad_json", "bad_request"]
    assert client.ask("jump")["error"]["code"] == "unknown_op"
    answer = client.ask("place", ref="r", symbol="B", currency="USD", side="BUY", quantity=10, limit="1")
    assert answer["error"]["code"] == "bad_request"
    assert client.ask("hello", client="other")["error"]["code"] == "bad_request"
    assert client.ask("clock")["ok"]


@pytest.mark.parametrize("size", [1_000_001, 3_500_000])
def test_a_line_that_is_too_long_is_refused_and_skipped(client, size):
    client.raw(b"x" * size + b"\n")
    answer = client.read()
    assert (answer["id"], answer["error"]["code"]) == (None, "line_too_long")
    assert client.ask("clock")["ok"]


def test_a_line_of_exactly_the_bound_is_read(client):
    line = json.dumps({"id": 99, "op": "clock"}).encode()
    client.raw(line + b" " * (1_000_000 - len(line)) + b"\n")
    assert client.read()["id"] == 99


def test_a_line_may_come_in_pieces(client):
    for byte in b'{"id":5,"op":"clock"}\n':
        client.raw(bytes([byte]))
        time.sleep(0.001)
    assert client.read()["id"] == 5


def test_a_half_line_at_the_end_is_no_request(client, connect):
    client.ask("advance", **SLOT)
    client.raw(b'{"id":9,"op":"place","ref":"half","symbol":"B","currency":"USD","side":"BUY","quantity":"1","limit":"5"}')
    client.close()
    assert connect("test").ask("orders")["orders"] == []


def test_a_full_answer_of_a_year_of_twenty_names_is_one_line(client):
    client.ask("advance", **SLOT)
    assert client.ask("history", symbols=["A"] * 500, count=101)["error"]["code"] == "bad_request"
    assert client.ask("history", symbols=["A"] * 500, count=100)["ok"]
