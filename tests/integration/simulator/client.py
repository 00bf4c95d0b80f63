"""The simulator as a process, and the smallest client that can talk to it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
START_S = 20.0
ANSWER_S = 10.0
SLOT = {"to": "2022-10-04T14:30:00.000000Z", "step": "slot", "session": "2022-10-04"}
CLOSE = {"to": "2022-10-04T20:00:00.000000Z", "step": "close", "session": "2022-10-04"}
NEXT_SLOT = {"to": "2022-10-05T14:30:00.000000Z", "step": "slot", "session": "2022-10-05"}
ROWS = """date,symbol,open,high,low,close,volume
2022-10-03,A,98,101,97,100,
2022-10-03,B,,,,20,
2022-10-04,A,50,52,49,51,
2022-10-04,B,,,,19.555,
2022-10-05,A,51,53,50,52,
2022-10-05,B,,,,21,
"""


def environment(folder: Path, data: Path, **settings: str) -> dict[str, str]:
    """The environment of a simulator process."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PROPDESK_")}
    ours = {"DIR": str(folder), "DATA": str(data), **{name.upper(): value for name, value in settings.items()}}
    return {**kept, **{f"PROPDESK_SIMULATOR_{name}": value for name, value in ours.items()}}


class Simulator:
    """A process that is started, killed and started again on one folder."""

    def __init__(self, folder: Path, rows: str = ROWS, **settings: str) -> None:
        self.folder, self.settings = folder / "broker", settings
        self.data = folder / "prices.csv"
        self.data.write_text(rows, "utf-8")
        self.log = folder / "log"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def journal(self) -> Path:
        return self.folder / "journal.jsonl"

    @property
    def port(self) -> int:
        return int((self.folder / "port").read_text())

    def launch(self) -> subprocess.Popen[bytes]:
        """Start the process without waiting for it."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "services.simulator"],
                cwd=ROOT,
                env=environment(self.folder, self.data, **self.settings),
                stderr=log,
                stdout=subprocess.DEVNULL,
            )
        return self.process

    def start(self) -> "Simulator":
        """Start the process and wait until it serves."""
        process = self.launch()
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            assert process.poll() is None, self.log.read_text()
            with suppress(OSError, ValueError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return self
            time.sleep(0.01)
        raise AssertionError(f"not serving after {START_S} s: {self.log.read_text()}")

    def failed(self) -> tuple[int, str]:
        """Start the process, which must end by itself: its exit code and its last line."""
        code = self.launch().wait(START_S)
        return code, self.log.read_text().splitlines()[-1]

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(START_S)

    def client(self, name: str | None = "test") -> "Client":
        """A connection, greeted as `name` unless that is None."""
        client = Client(self.port)
        if name is not None:
            assert client.ask("hello", client=name)["ok"]
        return client


class Client:
    """One connection; `ask` sends and reads, `send` and `read` do one of them."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S)
        self._lines = self.socket.makefile("rb")
        self._id = 0

    def send(self, op: str, **fields: Any) -> int:
        """Send a request and return its number."""
        self._id += 1
        self.raw(json.dumps({"id": self._id, "op": op, **fields}).encode() + b"\n")
        return self._id

    def raw(self, data: bytes) -> None:
        self.socket.sendall(data)

    def read(self) -> dict[str, Any]:
        """The next answer; an AssertionError at the end of the stream."""
        line = self._lines.readline()
        assert line.endswith(b"\n"), "the connection was closed"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, op: str, **fields: Any) -> dict[str, Any]:
        """Send one request and read one answer, which must be its own."""
        number = self.send(op, **fields)
        answer = self.read()
        assert answer["id"] == number
        return answer

    def place(self, symbol: str = "B", side: str = "BUY", quantity: str = "10", limit: str = "30", ref: str = "r") -> Any:
        """Place an order and return it."""
        answer = self.ask("place", ref=ref, symbol=symbol, currency="USD", side=side, quantity=quantity, limit=limit)
        assert answer["ok"], answer
        return answer["order"]

    def silent(self, seconds: float = 0.3) -> bool:
        """Whether nothing comes for a while."""
        self.socket.settimeout(seconds)
        try:
            return not self.socket.recv(1, socket.MSG_PEEK) and False
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(ANSWER_S)

    def ended(self) -> bool:
        """Whether the other side has closed; waits for it."""
        try:
            return self._lines.readline() == b""
        except ConnectionError:
            return True

    def books(self) -> dict[str, Any]:
        """Everything that the broker says of its state."""
        ops = ("orders", "executions", "positions", "account")
        return {op: {name: value for name, value in self.ask(op).items() if name != "id"} for op in ops}

    def close(self) -> None:
        self._lines.close()
        self.socket.close()
