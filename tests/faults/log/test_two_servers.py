"""Two servers on one directory: JetStream has no lock of its own, and both acknowledge the same sequences."""

import asyncio
import contextlib
import signal
from contextlib import ExitStack
from pathlib import Path

import nats
import pytest

from tests.faults.log.damage import DAYS, Desk, start
from tests.support.desks import Message, Watcher, administrator, command, facts, read_log, running, wait_for
from tests.support.runs import Finished

FOREIGN = 20
SERVERS = 4
ACK_S = 5.0
GROW_S = 10.0


async def publish(url: str) -> int:
    """How many messages the foreign server acknowledges; one of two on the same files may answer nothing any more."""
    client, acknowledged = await nats.connect(url), 0
    try:
        for number in range(FOREIGN):
            await client.jetstream().publish("ev.gate._desk.StateHashed", b"%d" % number, timeout=ACK_S)
            acknowledged += 1
    except nats.errors.Error:
        pass
    finally:
        await client.close()
    return acknowledged


def published(folder: Path, servers: ExitStack) -> int:
    """How much one of several servers, started one after another on these files, acknowledges; they live as long as `servers`.

    Sometimes none of them answers: the start behind it must be right all the same.
    """
    for _ in range(SERVERS):
        acknowledged = asyncio.run(publish(servers.enter_context(administrator(folder))))
        if acknowledged:
            return acknowledged
    return 0


def grown(watcher: Watcher, after: Message | None, events: int) -> bool:
    """Whether so many more stand in the log."""
    newest = watcher.last()
    return newest is not None and after is not None and newest.seq >= after.seq + events


def test_a_second_desk_on_the_directory_is_refused_by_the_lock(desk: Desk) -> None:
    with running(desk.folder, "--days", DAYS) as process, Watcher(desk.folder):
        done = command("run", "--no-serve", "--dir", str(desk.folder), "--days", DAYS)
        assert done.returncode == 2
        assert f"is in use by process {process.pid}" in done.stderr


@pytest.mark.long  # two servers on the same files do what chance has them do: not for every run
def test_what_a_server_started_by_hand_did_to_the_log_is_noticed_at_the_next_start_or_cost_nothing(
    plain: Finished, desk: Desk
) -> None:
    """Which of the two writes the files last is chance: either something of ours is lost, or nothing is."""
    with running(desk.folder, "--days", DAYS) as process, ExitStack() as servers:
        with Watcher(desk.folder) as watcher:
            wait_for(lambda: watcher.wait_for_type("FillSettled").seq > desk.last_seq)
            foreign = published(desk.folder, servers)
            after = watcher.last()
            with contextlib.suppress(AssertionError):  # the desk may have stopped by itself, or its log answers no more
                wait_for(lambda: process.poll() is not None or grown(watcher, after, 2 * foreign), GROW_S)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    sent = desk.orders_at_the_broker()
    code, said = start(desk)
    print(code, said)
    if code == 0:
        ours = [message for message in read_log(desk.folder) if message.payload.startswith(b"{")]
        assert facts(ours) == facts(plain.log)
        return
    assert desk.orders_at_the_broker() == sent
    if code == 1:
        assert "the log is incomplete: " in said
        assert "sequence" in said
    else:
        assert (code, "Traceback" in said) == (2, False)
