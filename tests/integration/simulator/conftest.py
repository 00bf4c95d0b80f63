"""A running simulator with a small price file, and clients that are closed at the end."""

import signal

import pytest

from tests.integration.simulator.client import Client, Simulator


@pytest.fixture
def simulator(tmp_path):
    """A started simulator; whatever the test started is killed at the end."""
    started = Simulator(tmp_path).start()
    yield started
    started.end(signal.SIGKILL)


@pytest.fixture
def connect(simulator):
    """Makes clients."""
    clients: list[Client] = []

    def make(name: str | None = "test") -> Client:
        clients.append(Client(simulator.port))
        if name is not None:
            assert clients[-1].ask("hello", client=name)["ok"]
        return clients[-1]

    yield make
    for client in clients:
        client.close()
