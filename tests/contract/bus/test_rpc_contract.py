"""What every `Rpc` promises, on both implementations."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

from shared.bus.ports import Handler, NoResponder, Unavailable
from tests.contract.bus.buses import Bus

BOUND_S = 20.0
Request = Callable[[str, bytes, float], Awaitable[bytes]]
Serve = Callable[[str, Handler], Awaitable[None]]


async def test_a_request_is_answered_by_the_handler_of_its_subject(bus: Bus) -> None:
    _, server = await bus.client()
    _, client = await bus.client()

    async def echo(payload: bytes) -> bytes:
        return b"you said " + payload

    await server.serve("rpc.test.echo", echo)
    assert await answered(client.request, "rpc.test.echo", b"hello") == b"you said hello"


async def test_a_subject_that_nobody_serves_has_no_responder(bus: Bus) -> None:
    _, client = await bus.client()
    with pytest.raises(NoResponder):
        await client.request("rpc.test.nobody", b"", BOUND_S)


async def test_a_handler_that_raises_answers_with_an_error_document(bus: Bus) -> None:
    _, server = await bus.client()
    _, client = await bus.client()

    async def broken(_payload: bytes) -> bytes:
        raise RuntimeError("the books are upside down")

    await server.serve("rpc.test.broken", broken)
    document = json.loads(await answered(client.request, "rpc.test.broken", b""))
    assert document == {"error": {"code": "internal", "message": "RuntimeError: the books are upside down"}}


async def test_an_answer_that_does_not_come_in_time_is_unavailable(bus: Bus) -> None:
    _, server = await bus.client()
    _, client = await bus.client()
    never = asyncio.Event()

    async def slow(_payload: bytes) -> bytes:
        await never.wait()
        return b""

    await server.serve("rpc.test.slow", slow)
    await ready(client.request, server.serve)
    with pytest.raises(Unavailable):
        await client.request("rpc.test.slow", b"", 0.05)
    never.set()


async def test_requests_of_one_client_are_answered_side_by_side(bus: Bus) -> None:
    _, server = await bus.client()
    _, client = await bus.client()
    both = asyncio.Barrier(2)

    async def meet(payload: bytes) -> bytes:
        await both.wait()
        return payload

    await server.serve("rpc.test.meet", meet)
    await ready(client.request, server.serve)
    async with asyncio.timeout(BOUND_S):
        answers = await asyncio.gather(*(client.request("rpc.test.meet", b"%d" % n, BOUND_S) for n in (1, 2)))
    assert answers == [b"1", b"2"]


async def ready(request: Request, serve: Serve) -> None:
    """Return when the server has seen what was served on this connection before: it takes subscriptions in order."""

    async def yes(_payload: bytes) -> bytes:
        return b"yes"

    await serve("rpc.test.ready", yes)
    await answered(request, "rpc.test.ready", b"")


async def answered(request: Request, subject: str, payload: bytes) -> bytes:
    """Ask until the other connection's subscription has reached the server."""
    async with asyncio.timeout(BOUND_S):
        while True:
            try:
                return await request(subject, payload, BOUND_S)
            except NoResponder:
                await asyncio.sleep(0.001)
