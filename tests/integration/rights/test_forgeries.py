"""Reply subjects that would store a forged event (spec of the bus, A5), tried from every account with everything it may call."""

import asyncio
import json

import pytest

from shared.bus.ports import Append
from tests.integration.rights.desk import AUTHORS, SOURCES, Desk, Plain

API = "LOG.API"
TARGETS = ("ev.gate.forged.Verdict", "ev.executor.forged.FillSettled", "ev.desk.forged.CashDeposited", "ev.agent.b2.ProposalMade")
WRITERS = (*AUTHORS, *SOURCES)
CONSUMER = {"deliver_policy": "all", "mem_storage": True, "num_replicas": 1}


async def plant(desk: Desk) -> None:
    """An event of the gate that somebody would like to repeat."""
    gate = await desk.connect("gate")
    last = await gate.log.last_under("ev.gate.>")
    seq = last.seq if last else 0
    await gate.log.append(Append("ev.gate.alpha.Verdict", f"gate:{seq}", b'{"planted":true}', "ev.gate.>", seq))


def own(name: str) -> str:
    author, _, book = name.partition("/")
    return f"ev.agent.{book}.ProposalMade" if book else f"ev.{author}.alpha.Verdict"


def calls(name: str) -> list[tuple[str, dict[str, object]]]:
    """What a user may ask of the stream, with answers that hold a foreign event wherever possible."""
    if name in SOURCES:
        batch = {"seq": 1, "batch": 10, "next_by_subj": "ev.>"}
        return [("DIRECT.GET.EV", {"last_by_subj": "ev.gate.>"}), ("DIRECT.GET.EV", batch), ("STREAM.INFO.EV", {})]
    return [
        ("STREAM.MSG.GET.EV", {"last_by_subj": "ev.gate.>"}),
        ("STREAM.INFO.EV", {}),
        ("CONSUMER.MSG.NEXT.EV.forger", {"batch": 10, "expires": 1_000_000_000, "idle_heartbeat": 100_000_000}),
        (
            "CONSUMER.CREATE.EV.f2",
            {"stream_name": "EV", "action": "create", "config": {"name": "f2", "ack_policy": "none", **CONSUMER}},
        ),
        ("CONSUMER.DELETE.EV.f2", {}),
    ]


async def send(plain: Plain, subject: str, body: object, reply: str) -> None:
    await plain.client.publish(subject, json.dumps(body).encode(), reply=reply)


@pytest.mark.parametrize("name", WRITERS)
async def test_no_reply_subject_stores_anything_under_a_foreign_prefix(desk: Desk, name: str) -> None:
    await plant(desk)
    gate, plain = await desk.connect("gate"), await desk.plain(name)
    start = await gate.log.last_seq()
    if name not in SOURCES:
        config = {"name": "forger", "ack_policy": "none", **CONSUMER}
        await plain.client.request(
            f"{API}.CONSUMER.CREATE.EV.forger", json.dumps({"stream_name": "EV", "action": "create", "config": config}).encode()
        )
    for target in (*TARGETS, own(name)):
        await send(plain, own(name), {"attack": "A"}, target)
        for call, body in calls(name):
            await send(plain, f"{API}.{call}", body, target)
        for rpc in ("rpc.gate.check", "rpc.executor.history", "rpc.executor.quotes", "rpc.gate.health"):
            await send(plain, rpc, {}, target)
    await plain.flush()
    await answered(desk, plain, name)
    written = [await gate.log.get(seq) for seq in range(start + 1, await gate.log.last_seq() + 1)]
    assert [stored.subject for stored in written if stored] == [own(name)] * (len(TARGETS) + 1)
    assert {stored.payload for stored in written if stored} == {b'{"attack": "A"}'}


async def answered(desk: Desk, plain: Plain, name: str) -> None:
    """Wait until the server has worked off what was sent before, and the pull's heartbeats and expiry are over too."""
    await plain.client.request(f"{API}.STREAM.INFO.EV", b"")
    await asyncio.sleep(0 if name in SOURCES else 1.2)
    await (await desk.connect("gate")).log.last_seq()


@pytest.mark.parametrize("name", AUTHORS)
@pytest.mark.parametrize("target", [*TARGETS, "ev.x.y.Z", "$JS.API.STREAM.DELETE.EV", "$JS.API.STREAM.PURGE.EV"])
async def test_a_pushing_consumer_neither_stores_an_event_nor_asks_for_anything(desk: Desk, name: str, target: str) -> None:
    await plant(desk)
    gate, plain = await desk.connect("gate"), await desk.plain(name)
    before = await gate.log.info()
    config = {"name": "pusher", "deliver_subject": target, "ack_policy": "explicit", "idle_heartbeat": 100_000_000, **CONSUMER}
    request = {"stream_name": "EV", "action": "create", "config": config}
    answer = await plain.client.request(f"{API}.CONSUMER.CREATE.EV.pusher", json.dumps(request).encode())
    if target.startswith("ev."):
        assert json.loads(answer.data)["error"]["err_code"] == 10081
    await asyncio.sleep(0.3)
    assert await gate.log.info() == before
    await plain.client.request(f"{API}.CONSUMER.DELETE.EV.pusher", b"")
