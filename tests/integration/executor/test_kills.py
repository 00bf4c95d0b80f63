"""Kills at any moment change nothing of what the log says."""

import asyncio
import os
import random
import signal
from pathlib import Path

import pytest

from shared.bus.jetstream import Connection, connect, ensure_stream
from tests.integration.bus.servers import NatsServer, remove_stream
from tests.integration.executor.process import ExecutorProcess
from tests.integration.executor.rest import NEXT_RUN, ROWS, RUN, Rest, facts
from tests.integration.simulator.client import Simulator

SEED = int(os.environ.get("PROPDESK_TEST_SEED", "20221004"))
LATEST_S = 0.004
"""How long after an executor's event it is killed at most: about as long as it takes to send an order and record it."""
KEPT_CHARS = 5000
OTHER_RUN = "20221004T1030-mo-1"
SCRIPT = {
    RUN: (("A", "BUY", "40", "51"), ("B", "BUY", "50", "30"), ("V", "BUY", "150", "10.5")),
    OTHER_RUN: (("V", "BUY", "5", "10.5"), ("B", "BUY", "600", "30"), ("A", "BUY", "1", "49")),
    NEXT_RUN: (("A", "SELL", "40", "50"), ("B", "BUY", "100", "30"), ("V", "SELL", "100", "9")),
}
EXPECTED_ORDERS = {
    f"{RUN}-1": ["filled"],
    f"{RUN}-2": ["filled"],
    f"{RUN}-3": ["expired"],
    f"{OTHER_RUN}-1": ["filled"],
    f"{OTHER_RUN}-2": [],
    f"{OTHER_RUN}-3": ["expired"],
    f"{NEXT_RUN}-1": ["filled"],
    f"{NEXT_RUN}-2": ["filled"],
    f"{NEXT_RUN}-3": ["filled"],
}


def orders(rest: Rest) -> dict[str, list[str]]:
    """The states of the broker's orders by reference."""
    return {name: [row["status"] for row in rest.client.ask("orders", ref=name)["orders"]] for name in EXPECTED_ORDERS}


async def kill_again_and_again(connection: Connection, executor: ExecutorProcess, chance: random.Random, share: float) -> None:
    """Kill the executor shortly after a share of its events, and start the next one; without end."""
    seen, kills = 0, 0
    while True:
        newest = await connection.log.last_under("ev.executor.>")
        if newest is None or newest.seq <= seen:
            await asyncio.sleep(0)
            continue
        seen = newest.seq
        if chance.random() < share:
            await asyncio.sleep(chance.uniform(0, LATEST_S))
            executor.kill()
            newest, kills = await connection.log.last_under("ev.executor.>") or newest, kills + 1
            print(f"kill {kills} after {newest.msg_id}")
            seen = newest.seq
            executor.start()


async def played(admin: Connection, url: str, folder: Path, share: float) -> set[tuple[str, str, bytes]]:
    """The facts of a whole run on a fresh log and simulator, with a kill after a share of the executor's events."""
    await remove_stream(admin)
    await ensure_stream(admin)
    connection = await connect(url, "rest")  # a client that worked with the removed stream works with no other
    broker = Simulator(folder, ROWS).start()
    executor = ExecutorProcess(url, folder, broker.folder / "port")
    rest = Rest(connection, broker.client("desk"), SCRIPT, "eq", "mo")
    killing = asyncio.create_task(kill_again_and_again(connection, executor.start(), random.Random(SEED), share))
    try:
        await rest.play()
        assert orders(rest) == EXPECTED_ORDERS
        return facts(await rest.events())
    finally:
        killing.cancel()
        print(await asyncio.gather(killing, return_exceptions=True))
        print(executor.said()[-KEPT_CHARS:])
        executor.kill()
        await rest.close()
        rest.client.close()
        await connection.close()
        broker.end(signal.SIGKILL)


@pytest.mark.parametrize("share", [0.15, pytest.param(1.0, marks=pytest.mark.long)])
async def test_an_executor_killed_again_and_again_writes_the_same_facts(
    log_connection: Connection, executor_nats: NatsServer, tmp_path_factory: pytest.TempPathFactory, share: float
):
    print(f"seed {SEED}")
    undisturbed = await played(log_connection, executor_nats.url, tmp_path_factory.mktemp("undisturbed"), 0)
    disturbed = await played(log_connection, executor_nats.url, tmp_path_factory.mktemp("disturbed"), share)
    assert disturbed == undisturbed
