"""A source with its own credentials stores what it likes under its own prefix: nobody else is misled or stopped by it."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from shared.bus.identity import Identity, Line
from shared.bus.jetstream import ensure_stream
from shared.bus.keys import ROOT, Key
from shared.bus.participant import Participant
from shared.bus.ports import Stored
from shared.protocol.envelope import Draft, seal
from shared.protocol.events import ClockAdvanced, KeysAdopted
from shared.protocol.signing import OPERATOR
from tests.contract.bus.people import AT, Ids, apply, done, ended, hashed
from tests.integration.rights.desk import AUTHORS, SOURCES, USERS, AccountServer, Desk, Plain

OWN = b"ev.agent.b2.ProposalMade"
HEADERS = [
    b"NATS/1.0\r\nNats-Sequence: 777\r\nNats-Subject: ev.gate.alpha.Verdict\r\nNats-Num-Pending: x\r\nNats-Stream: EV\r\n\r\n",
    b"NATS/1.0 204 EOB\r\nNats-Num-Pending: 0\r\n\r\n",
    b"NATS/1.0 503\r\n\r\n",
    b"NATS/1.0\r\nStatus: 204\r\n\r\nNats-Sequence: 1\r\n\r\n",
    b"NATS/1.0\r\nNats-Msg-Id: \xff\xfe\r\nX: \xff\r\n\r\n",
    b"NATS/1.0\r\nNats-Sequence: 4",
]
SUBJECTS = [b"ev.agent.b2.\xff\xfe", b"ev.agent.b2.\xe2\x82", b"ev.agent.b2.\xed\xa0\x80", b"ev.agent.b2.ClockAdvanced"]


class Everybody(Desk):
    """Participants of every author and source, with their own keys and rights, that demand signatures."""

    def __init__(self, server: AccountServer) -> None:
        super().__init__(server)
        self.root = Key.make(OPERATOR)
        self.people: dict[str, Participant[Ids]] = {}

    async def join(self, name: str) -> Participant[Ids]:
        """One process: it has its own key, the desk the root's too."""
        author = name.partition("/")[0]
        identity = Identity(author, {name: self.server.keys[name]}, self.root.public)
        line: Line = await identity.connect(self.server.url)
        self._open.append(line)
        if author == "desk":
            identity.keys[ROOT] = self.root
        joined = self.people[name] = Participant(
            line.log,
            line.rpc,
            author=author,
            instance=f"1-{author}",
            desk="test",
            state=(),
            apply=apply,
            keyring=identity.keyring(),
            signer=identity.signer(),
        )
        await joined.start()
        return joined

    async def opened(self) -> "Everybody":
        """The clock's first step and the keys stand in the log, and everybody has joined."""
        await ensure_stream(await self.connect("provisioner"))
        desk = await self.join("desk")
        public = {name: self.server.keys[name].public for name in (*AUTHORS, *SOURCES)}
        await done(desk, Draft("desk", "_desk", "_desk-1", AT, 0, ClockAdvanced(AT, "open", "2022-10-03")))
        await done(desk, Draft("desk", "_desk", "_desk", AT, 1, KeysAdopted(public, self.root.public, "test")))
        for name in ("gate", "executor", "journal", "agent/b1"):
            await self.join(name)
        return self

    async def agree(self) -> Ids:
        """What everybody has folded, which is the same."""
        states = []
        for participant in self.people.values():
            await participant.catch_up()
            states.append(participant.state)
        assert states == [states[0]] * len(states)
        return states[0]

    async def close(self) -> None:
        for participant in self.people.values():
            await participant.close()
        await super().close()


@pytest.fixture
async def everybody(folder: Path) -> AsyncIterator[Everybody]:
    server = AccountServer(folder, {name: Key.make() for name in USERS})
    server.start()
    made = await Everybody(server).opened()
    yield made
    await made.close()
    server.stop()


async def store(plain: Plain, subject: bytes, payload: bytes, headers: bytes = b"NATS/1.0\r\n\r\n") -> None:
    """Store a message whose subject and headers no library would send."""
    client: Any = plain.client
    answers = await client.subscribe(inbox := client.new_inbox())
    sizes = b"%d %d" % (len(headers), len(headers) + len(payload))
    command = b"HPUB %s %s %s\r\n%s%s\r\n" % (subject, inbox.encode(), sizes, headers, payload)
    client._pending.append(command)
    client._pending_data_size += len(command)
    await client._flush_pending()
    answer = await answers.next_msg(10)
    assert b'"seq"' in answer.data, answer.data


async def test_headers_and_subjects_that_no_library_would_send_mislead_no_reader(everybody: Everybody) -> None:
    before = await everybody.agree()
    plain = await everybody.plain("agent/b2")
    for headers in HEADERS:
        await store(plain, OWN, b"{}", headers)
    for subject in SUBJECTS:
        await store(plain, subject, b"{}")
    assert await everybody.agree() == before
    last = len(HEADERS) + len(SUBJECTS) + 2
    for participant in everybody.people.values():
        assert participant.cursor == last
        looked = [await participant.log.get(seq) for seq in range(3, last + 1)]
        assert [(one.seq, one.subject[:12], one.payload) for one in looked if one] == [
            (seq, "ev.agent.b2.", b"{}") for seq in range(3, last + 1)
        ]
    await done(everybody.people["agent/b1"], ended("b1", "1"))
    await done(everybody.people["gate"], hashed(1))
    assert len(await everybody.agree()) == len(before) + 2


Attack = Callable[[Key, Stored], bytes]


def signed(n: int, prev: str | None, *, attempt: str = "9", as_of: int = 0) -> Attack:
    """An event signed with the source's own key, at a place of its chain that it says itself."""

    def make(key: Key, _last: Stored) -> bytes:
        draft = ended("b2", attempt)
        moved = Draft(draft.author, draft.book, draft.about, draft.at, as_of, draft.data, draft.run)
        return seal(moved, desk="test", instance="9-b2", n=n, prev=prev, sign=key.sign)

    return make


ATTACKS: dict[str, Attack] = {
    "a number that is not its own next": signed(7, None),
    "a link to nothing": signed(1, "0" * 64),
    "decided when more was folded than there is": signed(1, None, as_of=1_000),
    "no JSON": lambda _key, _last: b"\xff\x00",
    "nested too deep for any reader": lambda _key, _last: b'{"data":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "an event of the gate once more": lambda _key, last: last.payload,
}


@pytest.mark.parametrize("name", ATTACKS)
async def test_what_a_source_signs_or_stores_is_dropped_by_everybody_and_stops_nobody(everybody: Everybody, name: str) -> None:
    await done(everybody.people["gate"], hashed(1))
    before = await everybody.agree()
    last = everybody.people["gate"].last
    assert last is not None
    plain = await everybody.plain("agent/b2")
    for _ in range(3):
        await store(plain, b"ev.agent.b2.RunEnded", ATTACKS[name](everybody.server.keys["agent/b2"], last))
    assert await everybody.agree() == before
    honest = await everybody.join("agent/b2")
    await done(honest, ended("b2", "1"))
    await done(everybody.people["agent/b1"], ended("b1", "1"))
    await done(everybody.people["gate"], hashed(2))
    assert len(await everybody.agree()) == len(before) + 3


async def test_a_source_that_uses_the_message_id_of_every_event_to_come_keeps_nobody_from_writing_it(
    everybody: Everybody,
) -> None:
    plain = await everybody.plain("agent/b2")
    drafts = {"gate": hashed(1), "agent/b1": ended("b1", "1"), "gate again": hashed(2)}
    for draft in drafts.values():
        await store(plain, OWN, b"{}", b"NATS/1.0\r\nNats-Msg-Id: %s\r\n\r\n" % draft.id.encode())
    before = await everybody.agree()
    for name, draft in drafts.items():
        author = everybody.people[name.removesuffix(" again")]
        assert (await done(author, draft)).id == draft.id
    assert await everybody.agree() == (*before, *(draft.id for draft in drafts.values()))
