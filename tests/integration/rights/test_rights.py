"""Who may do what, cell by cell, asked of a real server with everybody's own key."""

import asyncio
import json

import pytest

from shared.bus.agent_log import connect_sources
from shared.bus.jetstream import JetStreamLog
from shared.bus.keys import Key
from shared.bus.ports import Append, Reading, Stored
from shared.bus.rights import (
    AGENT_CALLS,
    CALLERS,
    FOREIGN_API,
    HINT,
    PROVISIONER_CALLS,
    SERVICE_CALLS,
    Rights,
    provisioner_rights,
)
from shared.bus.rights import rights_of as rights_of_author
from tests.integration.rights.desk import AUTHORS, USERS, AccountServer, Desk, Plain

CONSUMER = "r_x_1"
ADMINISTRATION = tuple(
    f"{prefix}.{call}"
    for prefix in ("$JS.API", FOREIGN_API)
    for call in (
        "STREAM.DELETE.EV",
        "STREAM.PURGE.EV",
        "STREAM.UPDATE.EV",
        "STREAM.MSG.DELETE.EV",
        "STREAM.SNAPSHOT.EV",
        "STREAM.RESTORE.EV",
        "STREAM.CREATE.OTHER",
        "STREAM.LIST",
        "STREAM.NAMES",
        "CONSUMER.DURABLE.CREATE.EV.x",
        "CONSUMER.CREATE.EV",
        "CONSUMER.CREATE.EV.x.ev.>",
        "CONSUMER.LIST.EV",
        "CONSUMER.PAUSE.EV.x",
        "INFO",
        "ACCOUNT.PURGE.DESK",
    )
)
NEVER = (
    *ADMINISTRATION,
    "$SYS.REQ.SERVER.PING",
    "$SYS.REQ.SERVER.ping.kick",
    "$JS.ACK.EV.r.1.1.1.1.0",
    "ev",
    "anything",
    "_R_.abc.1",
)
"""By hand: what nobody may publish, so that a table that is too wide fails too."""

EVENTS = (
    *(f"ev.{author}.alpha.Verdict" for author in AUTHORS),
    "ev.agent.b1.ProposalMade",
    "ev.agent.b2.ProposalMade",
    "ev.x.y.Z",
)
CALLS = tuple(dict.fromkeys(call.replace("*", CONSUMER) for call in (*SERVICE_CALLS, *AGENT_CALLS, *PROVISIONER_CALLS)))
PUBLISHED = (
    *EVENTS,
    *(f"{prefix}.{call}" for prefix in ("$JS.API", FOREIGN_API) for call in CALLS),
    *CALLERS,
    HINT,
    *(f"_INBOX_{name.replace('/', '_')}.x" for name in USERS),
    *NEVER,
)
SUBSCRIBED = (
    ">",
    "ev.>",
    "ev.gate.>",
    "rpc.>",
    "hb.>",
    "$JS.>",
    "$SYS.>",
    "_INBOX.>",
    "_R_.>",
    *CALLERS,
    HINT,
    *(f"_INBOX_{name.replace('/', '_')}.>" for name in USERS),
)
MUST_BE_REFUSED = {
    "gate": ("ev.executor.alpha.Verdict", "ev.desk.alpha.Verdict", "ev.agent.b1.ProposalMade", "rpc.desk.command"),
    "executor": ("ev.gate.alpha.Verdict", "ev.desk.alpha.Verdict", "ev.agent.b1.ProposalMade", "rpc.desk.command"),
    "journal": ("ev.gate.alpha.Verdict", "ev.executor.alpha.Verdict", "ev.desk.alpha.Verdict", "rpc.executor.quotes"),
    "desk": ("ev.gate.alpha.Verdict", "ev.executor.alpha.Verdict", "ev.journal.alpha.Verdict", "ev.agent.b1.ProposalMade"),
    "agent/b1": (
        "ev.gate.alpha.Verdict",
        "ev.executor.alpha.Verdict",
        "ev.agent.b2.ProposalMade",
        f"{FOREIGN_API}.CONSUMER.CREATE.EV.{CONSUMER}",
        f"{FOREIGN_API}.CONSUMER.DELETE.EV.{CONSUMER}",
        f"{FOREIGN_API}.CONSUMER.MSG.NEXT.EV.{CONSUMER}",
        f"{FOREIGN_API}.STREAM.MSG.GET.EV",
        "rpc.desk.command",
        "rpc.executor.quotes",
        HINT,
        "_INBOX_agent_b2.x",
    ),
    "agent/b2": ("ev.agent.b1.ProposalMade", "ev.gate.alpha.Verdict", "_INBOX_agent_b1.x"),
    "provisioner": EVENTS,
}
MUST_NOT_HEAR = (">", "ev.>", "ev.gate.>", "rpc.>", "$JS.>", "$SYS.>", "_INBOX.>", "_R_.>")


def rights_of(name: str) -> Rights:
    author, _, book = name.partition("/")
    return provisioner_rights() if name == "provisioner" else rights_of_author(author, book)


def covers(pattern: str, subject: str) -> bool:
    """NATS's wildcards, written anew."""
    wanted, found = pattern.split("."), subject.split(".")
    for at, token in enumerate(wanted):
        if token == ">":
            return len(found) > at
        if at >= len(found) or token not in ("*", found[at]):
            return False
    return len(wanted) == len(found)


async def publish_refused(plain: Plain, subjects: tuple[str, ...]) -> set[str]:
    """Which of them the server refuses (nats-py gives its words in lower case); the payload is no valid request of anything."""
    for subject in subjects:
        await plain.client.publish(subject, b"[]", reply="nowhere")
    await plain.flush()
    found = {subject for kind, subject in plain.refused if kind == "publish"}
    return {subject for subject in subjects if subject.lower() in found}


@pytest.mark.parametrize("name", USERS)
async def test_a_user_publishes_what_the_table_says_and_nothing_else(desk: Desk, name: str) -> None:
    allowed = rights_of(name).publish
    refused = await publish_refused(await desk.plain(name), PUBLISHED)
    for subject in PUBLISHED:
        assert (subject in refused) == (not any(covers(pattern, subject) for pattern in allowed)), subject


@pytest.mark.parametrize("name", USERS)
async def test_what_must_be_refused_is_whatever_the_table_says(desk: Desk, name: str) -> None:
    wanted = {*NEVER, *MUST_BE_REFUSED[name]}
    assert await publish_refused(await desk.plain(name), tuple(wanted)) == wanted


@pytest.mark.parametrize("name", USERS)
async def test_a_user_hears_what_the_table_says_and_nothing_else(desk: Desk, name: str) -> None:
    allowed = rights_of(name).subscribe
    plain = await desk.plain(name)
    for subject in SUBSCRIBED:
        await plain.client.subscribe(subject)
    await plain.flush()
    found = {subject for kind, subject in plain.refused if kind == "subscription"}
    refused = {subject for subject in SUBSCRIBED if subject.lower() in found}
    assert refused >= set(MUST_NOT_HEAR)
    for subject in SUBSCRIBED:
        assert (subject in refused) == (not any(covers(pattern, subject) for pattern in allowed)), subject


@pytest.mark.parametrize("name", USERS)
async def test_nobody_can_remove_change_or_purge_the_stream(desk: Desk, name: str) -> None:
    gate, plain = await desk.connect("gate"), await desk.plain(name)
    before = await gate.log.info()
    for subject in ADMINISTRATION:
        await plain.client.publish(subject, b"", reply=plain.client.new_inbox())
    await plain.flush()
    assert await gate.log.info() == before


async def test_everybody_can_do_their_work(desk: Desk) -> None:
    for author in AUTHORS:
        connection = await desk.connect(author)
        fence = f"ev.{author}.>"
        last = await connection.log.last_under(fence)
        seq = last.seq if last else 0
        at = await connection.log.append(Append(f"ev.{author}.work.X", f"{author}:{seq}", b"{}", fence, seq))
        stored = await connection.log.get(at)
        assert stored is not None
        assert stored.subject == f"ev.{author}.work.X"
        reading = connection.log.read(at - 1)
        async with asyncio.timeout(10):
            assert (await reading.__anext__())[0] == stored
        await reading.aclose()


async def test_sources_write_each_over_its_own_connection_and_read_without_consumers(desk: Desk, server: AccountServer) -> None:
    gate = await desk.connect("gate")
    agent = await connect_sources(server.url, {book: server.keys[f"agent/{book}"] for book in ("b1", "b2")})
    try:
        start = await agent.log.last_seq()
        reading = agent.log.read(start)
        for book in ("b1", "b2"):
            fence = f"ev.agent.{book}.>"
            last = await agent.log.last_under(fence)
            seq = last.seq if last else 0
            at = await agent.log.append(Append(f"ev.agent.{book}.X", f"{book}:{seq}", b"{}", fence, seq))
            assert await gate.log.get(at) == await agent.log.get(at)
        found = await read_up_to(reading, start + 2)
        last = await gate.log.last_under("ev.gate.>")
        seq = last.seq if last else 0
        live = await gate.log.append(Append("ev.gate.work.X", f"gate:{seq}", b"{}", "ev.gate.>", seq))
        found += await read_up_to(reading, live)
        assert [stored.seq for stored in found] == list(range(start + 1, live + 1))
        assert await gate.log.get(live) == found[-1]
        await reading.aclose()
    finally:
        await agent.close()


@pytest.mark.parametrize("hint", [None, b"99999999999999999", b"-1", b"x" * 1000, b""])
async def test_a_source_reads_on_without_a_hint_and_a_wrong_one_changes_nothing(
    desk: Desk, server: AccountServer, hint: bytes | None
) -> None:
    gate = await desk.connect("gate")
    silent = JetStreamLog(gate.link, hints=False)
    agent = await connect_sources(server.url, {"b1": server.keys["agent/b1"]})
    try:
        start = await agent.log.last_seq()
        reading = agent.log.read(start)
        assert reading.take() == []
        await reading.wait(0.05)
        if hint is not None:
            await gate.link.client.publish(HINT, hint)
        last = await silent.last_under("ev.gate.>")
        seq = last.seq if last else 0
        at = await silent.append(Append("ev.gate.work.X", f"gate:{seq}", b"{}", "ev.gate.>", seq))
        assert [stored.seq for stored in await read_up_to(reading, at)] == list(range(start + 1, at + 1))
        await reading.aclose()
    finally:
        await agent.close()


async def read_up_to(reading: Reading, seq: int) -> list[Stored]:
    """Everything up to a sequence."""
    found: list[Stored] = []
    async with asyncio.timeout(10):
        while not found or found[-1].seq < seq:
            found += await reading.__anext__()
    return found


@pytest.mark.parametrize("stranger", ["nobody", "unknown", "wrong"])
async def test_whoever_has_no_key_does_not_come_in(server: AccountServer, stranger: str) -> None:
    """`wrong` names the gate and answers the server's nonce with another key."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        async with asyncio.timeout(10):
            info = json.loads((await reader.readline()).removeprefix(b"INFO "))
            key = Key.make()
            public = server.keys["gate"].public if stranger == "wrong" else key.public
            proof = {"nkey": public, "sig": key.answer(info["nonce"]).decode()} if stranger != "nobody" else {}
            connect = {"verbose": False, "pedantic": False, "lang": "test", "version": "1", "protocol": 1, **proof}
            writer.write(f"CONNECT {json.dumps(connect)}\r\nPING\r\n".encode())
            assert b"Authorization Violation" in await reader.readline()
    finally:
        writer.close()
