"""The executor as a process that is started, killed and started again."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[3]
END_S: Final = 20.0


class ExecutorProcess:
    """One executor after another on one log and one simulator."""

    def __init__(self, nats_url: str, folder: Path, port_file: Path) -> None:
        self.log = folder / "executor.log"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PROPDESK_")}
        ours = {"NATS_URL": nats_url, "DESK": "test", "DIR": str(folder), "SIMULATOR_PORT_FILE": str(port_file)}
        self.environment = {**kept, **{f"PROPDESK_{name}": value for name, value in ours.items()}}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> "ExecutorProcess":
        """Start one, without waiting for anything."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "services.executor"], cwd=ROOT, env=self.environment, stdout=subprocess.DEVNULL, stderr=log
            )
        return self

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        self.end(signal.SIGKILL)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and return the exit code; fails if it does not end."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(END_S)

    def exit_code(self) -> int:
        """Wait for its own end."""
        assert self.process is not None
        return self.process.wait(END_S)

    def said(self) -> str:
        """Everything on its stderr."""
        return self.log.read_text("utf-8")
