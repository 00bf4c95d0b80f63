"""Record a finished desk's log for tests/contract/logs, where it must replay for ever.

    tools/record_log.py                 trade four sessions of the built-in books, one order cancelled by hand, and record that
    tools/record_log.py --dir .propdesk record a desk that is there and does not run

Writes tests/contract/logs/<version>/log.jsonl, one line `{"seq", "subject", "payload"}` a message with the payload's own bytes,
and expected.json with what `propdesk replay` finds in it. The log of a released version is a promise: it is never written again.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import msgspec

from services.desk.desk_keys import DeskKeys
from services.desk.embedded import with_log
from services.desk.layout import Layout
from services.journal.replay import replay
from shared.bus.jetstream import Connection
from shared.bus.logs import configure_logs
from shared.bus.ports import Stored
from shared.protocol.envelope import canonical, sha256_hex

LOGS: Final = Path(__file__).parents[1] / "tests" / "contract" / "logs"
PROPDESK: Final = Path(sys.executable).with_name("propdesk")
MAX_BYTES: Final = 400_000
DAYS: Final = "4"
SECOND_RUN: Final = "agent:RunStarted:"
ATTEMPTS: Final = 5
BEGIN_S: Final = 120.0
INTERRUPTED: Final = 130


class Line(msgspec.Struct):
    """One stored message; the payload's bytes are kept as they are."""

    seq: int
    subject: str
    payload: msgspec.Raw


async def read(connection: Connection, keys: DeskKeys) -> tuple[list[Stored], str]:
    """The whole log, and the hash of the state that it folds to."""
    last = await connection.log.last_seq()
    stored: list[Stored] = []
    reading = connection.log.read(0)
    try:
        while len(stored) < last:
            stored += await anext(reading)
    finally:
        await reading.aclose()
    result = await replay(connection.log, None, keyring=keys.identity().keyring())
    return stored[:last], result.state_hash


def write(folder: Path, stored: list[Stored], state_hash: str) -> None:
    """Write the log and what is to be found in it; raises `SystemExit` if it is too large to be read by people."""
    encoder = msgspec.json.Encoder()
    lines = [encoder.encode(Line(one.seq, one.subject, msgspec.Raw(one.payload))) for one in stored]
    text = b"".join(line + b"\n" for line in lines)
    if len(text) > MAX_BYTES:
        raise SystemExit(f"record: {len(text)} bytes are more than {MAX_BYTES}: record a shorter run")
    counts = Counter(one.subject.rpartition(".")[2] for one in stored)
    expected = {
        "events": len(stored),
        "state_hash": state_hash,
        "types": dict(sorted(counts.items())),
        "sha256": sha256_hex(text),
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "log.jsonl").write_bytes(text)
    (folder / "expected.json").write_bytes(msgspec.json.format(canonical(expected), indent=2) + b"\n")
    print(f"record: {len(stored)} events, {len(text)} bytes, state {state_hash[:16]} in {folder}")


def propdesk(*args: str) -> dict[str, Any]:
    """A command's JSON document."""
    done = subprocess.run([str(PROPDESK), *args, "--json"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"record: propdesk {args[0]} ended with {done.returncode}\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def interrupted(folder: Path) -> None:
    """Start the run and interrupt it when the second book begins, while the first one's orders rest at the broker."""
    command = [str(PROPDESK), "run", "--days", DAYS, "--dir", str(folder), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + BEGIN_S
    log = folder / "logs" / "agent.log"
    while not (log.exists() and log.read_text("utf-8").count(SECOND_RUN) >= 2):
        if process.poll() is not None or time.monotonic() > until:
            process.kill()
            raise SystemExit("record: the run did not begin as it should")
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    process.wait(BEGIN_S)


def traded(folder: Path) -> bool:
    """Trade in `folder` to the end with one order cancelled by hand; False if none was at work when it was interrupted."""
    interrupted(folder)
    working = [order["order"] for order in propdesk("status", "--dir", str(folder))["open_orders"] if order["state"] == "working"]
    if not working:
        return False
    done = propdesk("cancel", working[-1], "--reason", "a drill for the record", "--request", "recorded", "--dir", str(folder))
    print(f"record: {done['event']} at sequence {done['seq']} cancels {working[-1]}")
    propdesk("run", "--days", DAYS, "--dir", str(folder))
    return True


def main() -> None:
    """Trade if no desk is given, then record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=Path, help="a desk that does not run; default: make one")
    parser.add_argument("--version", default=version("propdesk"), help="the folder's name; default: this version")
    options = parser.parse_args()
    configure_logs("record", "warning")
    with tempfile.TemporaryDirectory() as made:
        folder = options.dir or next((Path(made, str(n)) for n in range(ATTEMPTS) if traded(Path(made, str(n)))), None)
        if folder is None:
            raise SystemExit(f"record: no order was at work at any of {ATTEMPTS} interruptions: try again")
        stored, state_hash = with_log(Layout(folder), read)
    write(LOGS / options.version, stored, state_hash)


if __name__ == "__main__":
    main()
