"""A real server, a real simulator, and a real executor between them."""

import signal
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from shared.bus.jetstream import Connection, ensure_stream
from tests.integration.bus.servers import NatsServer, connected, remove_stream
from tests.integration.executor.process import ExecutorProcess
from tests.integration.executor.rest import ROWS, Rest, Wanted
from tests.integration.simulator.client import Simulator


@pytest.fixture(scope="session")
def executor_nats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    """A server that stays up."""
    server = NatsServer(tmp_path_factory.mktemp("nats")).start()
    yield server
    server.stop()


@pytest.fixture
async def log_connection(executor_nats: NatsServer) -> AsyncIterator[Connection]:
    """A client of the server, with an empty stream."""
    client = await connected(executor_nats)
    await remove_stream(client)
    await ensure_stream(client)
    yield client
    await client.close()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Simulator]:
    """A started simulator."""
    simulator = Simulator(tmp_path, ROWS).start()
    yield simulator
    if simulator.process is not None and simulator.process.poll() is None:
        simulator.process.send_signal(signal.SIGCONT)
    simulator.end(signal.SIGKILL)


@pytest.fixture
def executor(executor_nats: NatsServer, broker: Simulator, tmp_path: Path) -> Iterator[ExecutorProcess]:
    """An executor that is not started yet."""
    process = ExecutorProcess(executor_nats.url, tmp_path, broker.folder / "port")
    yield process
    if process.process is not None and process.process.poll() is None:
        process.kill()


@pytest.fixture
async def make_rest(log_connection: Connection, broker: Simulator) -> AsyncIterator[Callable[..., Rest]]:
    """Makes the rest of the desk for a script of orders by run."""
    made: list[Rest] = []

    def make(script: dict[str, tuple[Wanted, ...]], *books: str) -> Rest:
        made.append(Rest(log_connection, broker.client("desk"), script, *books))
        return made[-1]

    yield make
    for rest in made:
        await rest.close()
        rest.client.close()
