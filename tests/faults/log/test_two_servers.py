"""Two servers on one directory: JetStream has no lock of its own, and both acknowledge the same sequences."""

import asyncio
import signal

import nats

from tests.faults.log.damage import DAYS, Desk, start
from tests.support.desks import Watcher, administrator, command, running, wait_for

FOREIGN = 20


async def publish(url: str) -> None:
    """Let the foreign server acknowledge some messages."""
    client = await nats.connect(url)
    for number in range(FOREIGN):
        await client.jetstream().publish("ev.gate._desk.StateHashed", b"%d" % number)
    await client.close()


def test_a_second_desk_on_the_directory_is_refused_by_the_lock(desk: Desk) -> None:
    with running(desk.folder, "--days", DAYS) as process, Watcher(desk.folder):
        done = command("run", "--no-serve", "--dir", str(desk.folder), "--days", DAYS)
        assert done.returncode == 2
        assert f"is in use by process {process.pid}" in done.stderr


def test_what_a_server_started_by_hand_did_to_the_log_is_noticed_at_the_next_start(desk: Desk) -> None:
    with running(desk.folder, "--days", DAYS) as process, administrator(desk.folder) as url:
        with Watcher(desk.folder) as watcher:
            wait_for(lambda: watcher.wait_for_type("FillSettled").seq > desk.last_seq)
            asyncio.run(publish(url))
            after = watcher.last()
            assert after is not None
            wait_for(lambda: (newest := watcher.last()) is not None and newest.seq >= after.seq + 2 * FOREIGN)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    sent = desk.orders_at_the_broker()
    code, said = start(desk)
    assert code == 1
    assert "the log is incomplete: " in said
    assert "sequence" in said
    assert desk.orders_at_the_broker() == sent
