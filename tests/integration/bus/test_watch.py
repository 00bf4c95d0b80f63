"""The log is looked at again after every reconnect, before anything can be appended to it."""

import shutil
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from shared.bus.folder import SEEN_FILE
from shared.bus.jetstream import Connection, ensure_stream
from shared.bus.participant import Participant
from shared.bus.ports import Append, LogBroken
from shared.bus.seen import Seen
from shared.bus.watch import LogWatch
from shared.ledger.state import State
from shared.protocol.envelope import Draft, sha256_hex
from shared.protocol.events import StateHashed
from tests.integration.bus.servers import NatsServer, connected, eventually

AT = "2022-10-03T14:30:00.000000Z"


def draft(number: int) -> Draft:
    """A fact of the gate."""
    return Draft("gate", "_desk", f"s{number}", AT, 0, StateHashed("2022-10-03", str(number)))


@dataclass
class Gate:
    """A gate that watches its log."""

    server: NatsServer
    connection: Connection
    participant: Participant[State]
    watch: LogWatch
    folder: Path


@pytest.fixture
async def gate(tmp_path: Path) -> AsyncIterator[Gate]:
    """On a server of its own, with two events of its own in the log."""
    server = NatsServer(tmp_path / "nats").start()
    connection = await connected(server, "gate")
    await ensure_stream(connection)
    made = await join(server, connection, tmp_path / "gate")
    await made.participant.append(draft(1))
    await made.participant.append(draft(2))
    yield made
    await made.participant.close()
    await made.connection.close()
    server.stop()


async def join(server: NatsServer, connection: Connection, folder: Path) -> Gate:
    """A gate that has looked at the log and folded it."""
    participant: Participant[State] = Participant(
        connection.log, connection.rpc, author="gate", instance="1-gate", desk="test", state=State(), apply=lambda state, _: state
    )
    watch = LogWatch(connection, participant, folder, "the gate")
    await watch.begin()
    await participant.start()
    return Gate(server, connection, participant, watch, folder)


def seen(gate: Gate) -> Seen:
    """What stands in its file."""
    return msgspec.json.decode((gate.folder / SEEN_FILE).read_bytes(), type=Seen)


async def regained(gate: Gate, epoch: int) -> None:
    """Wait until the connection was lost and is back."""

    async def back() -> bool:
        return gate.connection.link.epoch > epoch and gate.connection.link.connected.is_set()

    await eventually(back)


async def copied(gate: Gate, count: int) -> None:
    """Make a stream that holds the same events, or some of them, and others where they end."""
    rows = [await gate.connection.log.get(seq) for seq in range(1, count + 1)]
    epoch = gate.connection.link.epoch
    gate.server.stop()
    shutil.rmtree(gate.server.directory / "js")
    gate.server.start()
    client = await connected(gate.server)
    await ensure_stream(client)
    for row in rows:
        assert row is not None
        await client.log.append(Append(row.subject, row.msg_id, row.payload, "ev.gate.>", row.seq - 1))
    await client.close()
    await regained(gate, epoch)


async def test_what_was_folded_is_written_with_its_stream(gate: Gate) -> None:
    await gate.watch.write()
    last, info = await gate.connection.log.get(2), await gate.connection.log.info()
    assert last is not None
    assert seen(gate) == Seen(2, sha256_hex(last.payload), info.created, 1)


async def test_after_a_restart_of_the_server_it_goes_on(gate: Gate) -> None:
    epoch = gate.connection.link.epoch
    gate.server.restart(signal.SIGKILL)
    await regained(gate, epoch)
    event = await gate.participant.append(draft(3))
    assert event is not None
    assert event.seq == 3


async def test_a_stream_made_anew_with_the_very_same_events_takes_no_append(gate: Gate) -> None:
    await copied(gate, 2)
    with pytest.raises(LogBroken, match=r"sequence.* 2, was replaced by one made at"):
        await gate.participant.append(draft(3))
    client = await connected(gate.server)
    assert await client.log.last_seq() == 2
    await client.close()


async def test_an_emptied_store_takes_no_append(gate: Gate) -> None:
    epoch = gate.connection.link.epoch
    gate.server.stop()
    shutil.rmtree(gate.server.directory / "js")
    gate.server.start()
    await regained(gate, epoch)
    with pytest.raises(LogBroken, match="there is no stream EV"):
        await gate.participant.append(draft(3))
    with pytest.raises(LogBroken, match="there is no stream EV"):
        await gate.watch.run()


async def test_a_start_on_a_log_that_lost_what_was_seen_is_refused_before_anything_is_folded(gate: Gate) -> None:
    await gate.watch.close()
    await copied(gate, 1)
    client = await connected(gate.server, "gate")
    with pytest.raises(LogBroken, match=r"was replaced by one made at .* that ends at sequence 1"):
        await join(gate.server, client, gate.folder)
    assert seen(gate).seq == 2
    await client.close()
