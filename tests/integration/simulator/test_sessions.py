"""One connection per client id, read to its end before the next one is served."""

import select
import socket
import struct
from contextlib import suppress

import pytest

from tests.integration.simulator.client import SLOT

PLACE = b'{"id":7,"op":"place","ref":"last","symbol":"B","currency":"USD","side":"BUY","quantity":"1","limit":"5"}\n'


def test_a_second_connection_under_one_client_id_is_held_until_the_first_is_closed(connect):
    first, second = connect("executor"), connect(None)
    second.send("hello", client="executor")
    assert second.silent()
    assert first.ask("clock")["ok"]
    first.close()
    assert second.read()["ok"]


def test_connections_that_are_held_are_served_in_the_order_they_came(connect):
    first, second, third = connect("executor"), connect(None), connect(None)
    second.send("hello", client="executor")
    assert second.silent(0.1)
    third.send("hello", client="executor")
    assert third.silent(0.1)
    first.close()
    assert second.read()["ok"]
    assert third.silent()
    second.close()
    assert third.read()["ok"]


def test_other_client_ids_are_served_meanwhile(connect):
    connect("executor")
    assert connect("desk").ask("clock")["ok"]


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
def test_what_a_dying_client_sent_is_carried_out_before_the_next_one_is_served(connect, reset):
    first, second = connect("executor"), connect(None)
    first.ask("advance", **SLOT)
    second.send("hello", client="executor")
    # answers that nobody reads make writing fail while the orders are still unread
    first.raw(b'{"id":6,"op":"history","symbols":["A","B"],"count":5}\n' * 200 + PLACE * 50)
    if reset:
        first.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    first.close()
    assert second.read()["ok"]
    assert len(second.ask("orders", ref="last")["orders"]) == 50


def test_drop_session_closes_the_first_and_serves_the_one_that_is_held(connect):
    first, second, desk = connect("executor"), connect(None), connect("desk")
    second.send("hello", client="executor")
    assert second.silent()
    assert desk.ask("drop_session", client="executor")["dropped"] is True
    assert first.ended()
    assert second.read()["ok"]
    assert second.ask("clock")["ok"]


def test_drop_session_of_nobody_says_so(connect):
    desk = connect("desk")
    assert desk.ask("drop_session", client="executor")["dropped"] is False
    assert desk.ask("drop_session", client="desk")["error"]["code"] == "bad_request"


def test_a_dropped_client_that_waits_is_dropped_too(connect):
    first, desk = connect("executor"), connect("desk")
    first.send("wait", to=SLOT["to"])
    assert desk.ask("drop_session", client="executor")["dropped"] is True
    assert first.ended()
    assert desk.ask("advance", **SLOT)["ok"]


def test_only_so_many_wait_for_one_client_id(connect):
    connect("executor")
    held = [connect(None) for _ in range(9)]
    for client in held:
        client.send("hello", client="executor")
    readable, _, _ = select.select([client.socket for client in held], [], [], 5)
    refused = [client for client in held if client.socket in readable]
    assert [client.read()["error"]["code"] for client in refused] == ["session_busy"]


def test_only_so_many_connections_are_open_at_once(connect):
    clients = [connect(f"client{n}") for n in range(64)]
    assert connect(None).read()["error"]["code"] == "too_many_connections"
    clients.pop().close()
    assert clients[0].ask("clock")["ok"]
    for _ in range(100):
        answer = connect(None).ask("hello", client="again")
        if answer["ok"]:
            return
    raise AssertionError("a closed connection did not make room")


def test_a_client_that_does_not_read_holds_up_nobody(connect):
    deaf, other = connect("deaf"), connect("other")
    other.ask("advance", **SLOT)
    deaf.socket.setblocking(False)
    request = b'{"id":6,"op":"history","symbols":["A","B"],"count":5}\n' * 1000
    with suppress(BlockingIOError):
        while True:
            deaf.socket.send(request)
    assert other.ask("clock")["ok"]
    assert other.ask("drop_session", client="deaf")["dropped"] is True
