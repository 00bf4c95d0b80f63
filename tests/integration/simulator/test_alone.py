"""`propdesk simulator` as a process of its own, with the real ib_async at its TWS port and JSON lines at its control port."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ib_async import IB, LimitOrder, Stock

from tests.support.tws import DAY, price_rows, until

ROOT = Path(__file__).resolve().parents[3]
START_S = 20.0
SLOT = {"to": f"{DAY}T14:30:00.000000Z", "step": "slot", "session": DAY}


class Alone:
    """The process, its ports and its control connection."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        data = folder / "prices.csv"
        data.write_text(price_rows(), "utf-8")
        command = [
            sys.executable,
            "-m",
            "services.desk.cli",
            "simulator",
            "--port",
            "0",
            "--json",
            "--data",
            str(data),
            *arguments,
        ]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PROPDESK_")}
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1]
        self.said: dict[str, Any] = json.loads(line)
        self._number = 0
        self._control = socket.create_connection(("127.0.0.1", self.said["control"]), timeout=10)
        self._lines = self._control.makefile("rwb")
        self.hello = self.ask("hello", client="test")

    def ask(self, op: str, **fields: Any) -> dict[str, Any]:
        """One request over the control port."""
        self._number += 1
        self._lines.write(json.dumps({"id": self._number, "op": op, **fields}).encode() + b"\n")
        self._lines.flush()
        answer: dict[str, Any] = json.loads(self._lines.readline())
        return answer

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; exit code and last line on stderr."""
        self._lines.close()
        self._control.close()
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=START_S)
        return self.process.returncode, (said.splitlines() or [""])[-1]


@pytest.fixture
def start(tmp_path):
    """Starts simulators; whatever still runs at the end is killed."""
    made: list[Alone] = []

    def begin(*arguments: str) -> Alone:
        made.append(Alone(tmp_path, *arguments))
        return made[-1]

    yield begin
    for alone in made:
        if alone.process.poll() is None:
            alone.end(signal.SIGKILL)


async def connected(alone: Alone) -> IB:
    ib = IB()
    await ib.connectAsync("127.0.0.1", alone.said["port"], clientId=7, timeout=5, raiseSyncErrors=True)
    return ib


async def aapl(ib: IB) -> Any:
    (contract,) = await ib.qualifyContractsAsync(Stock("AAPL", "SMART", "USD"))
    return contract


async def test_a_stepped_simulator_is_driven_and_disturbed_over_its_control_port_and_remembers_after_a_kill(start, tmp_path):
    alone = start("--clock", "step", "--dir", str(tmp_path / "broker"), "--frames", str(tmp_path / "frames"))
    assert (alone.hello["clock_mode"], alone.hello["account"]) == ("step", "DU1234567")
    assert alone.ask("advance", **SLOT)["ok"]
    assert alone.ask("fault", fault={"name": "commission", "when": "late"})["ok"]
    refused = alone.ask("fault", fault={"name": "explode"})
    assert (refused["ok"], refused["error"]["code"]) == (False, "bad_fault")
    ib = await connected(alone)
    contract = await aapl(ib)
    trade = ib.placeOrder(contract, LimitOrder("BUY", 10, 191.0, tif="DAY", account="DU1234567", orderRef="kept"))
    await until(lambda: trade.orderStatus.status == "Filled")
    assert trade.fills[0].commissionReport.execId == ""
    alone.end(signal.SIGKILL)
    await until(lambda: not ib.isConnected())
    again = start("--clock", "step", "--dir", str(tmp_path / "broker"))
    ib = await connected(again)
    assert [(fill.execution.orderRef, fill.execution.shares) for fill in ib.fills()] == [("kept", 10)]
    assert [position.position for position in ib.positions()] == [10]
    ib.disconnect()
    assert again.end() == (143, "propdesk: stopped by SIGTERM")
    sent = [json.loads(line) for line in (tmp_path / "frames").read_text().splitlines()]
    assert {line["to"] for line in sent} == {"server", "client"}


async def test_an_accelerated_simulator_moves_time_by_itself_through_closes_and_refuses_to_be_moved(start):
    alone = start("--speed", "20000", "--from", DAY, "--seed", "7")
    assert alone.hello["clock_mode"] == "accelerated"
    refused = alone.ask("advance", **SLOT)
    assert refused["error"]["code"] == "bad_advance"
    ib = await connected(alone)
    contract = await aapl(ib)
    before = await ib.reqCurrentTimeAsync()
    trade = ib.placeOrder(contract, LimitOrder("BUY", 10, 150.0, tif="DAY", account="DU1234567", orderRef="expires"))
    await until(lambda: trade.orderStatus.status == "Cancelled", timeout_s=15)
    assert await ib.reqCurrentTimeAsync() > before
    ib.disconnect()
    assert alone.end(signal.SIGINT) == (130, "propdesk: stopped by SIGINT")


def refused(folder: Path, *arguments: str) -> tuple[int, str]:
    """Exit code and last line of a simulator that must not start."""
    command = [sys.executable, "-m", "services.desk.cli", "simulator", "--port", "0", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=START_S, check=False)
    return done.returncode, done.stderr.splitlines()[-1]


def test_what_is_wrong_with_the_options_is_said_with_exit_code_2(tmp_path):
    scenario = tmp_path / "scenario"
    scenario.write_text('{"fault": {"name": "drop"}}\n{"fault": {"name": "drop", "often": 1}}\n')
    code, said = refused(tmp_path, "--faults", str(scenario))
    assert code == 2
    assert "line 2: Object contains unknown field `often`" in said
    assert refused(tmp_path, "--fx", "EUR")[1].startswith("propdesk: --fx 'EUR': give CURRENCY=RATE")
    assert "2022-01-01 is no session of us-stocks-daily.csv" in refused(tmp_path, "--from", "2022-01-01")[1]
