"""A whole run as a user types it: seconds to the first fill and to the end, and the memory of every process.

Nothing is beside it: no other desk does the same. Memory is the peak that the kernel notes for each process (VmHWM), so pages
that processes share count in each of them. The run must end well, and every service must have been seen.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from _table import Figure, parser, report

PROPDESK: Final = Path(sys.executable).with_name("propdesk")
SERVICES: Final = ("agent", "executor", "gate", "journal", "simulator", "nats-server")
FIRST_FILL: Final = re.compile(r"first fill after ([0-9.]+) s")
LOOK_S: Final = 0.1
KB_PER_MB: Final = 1024


def children(pid: int) -> dict[str, int]:
    """Pids of a desk's children by service."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            words = (path / "cmdline").read_bytes().decode()
        except (OSError, IndexError):
            continue
        name = next((name for name in SERVICES if parent == pid and name in words), None)
        if name is not None:
            found[name] = int(path.name)
    return found


def peak_mb(pid: int) -> float:
    """The most memory that a process ever had, 0 if it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / KB_PER_MB if found else 0.0


def watch(process: subprocess.Popen[str]) -> dict[str, float]:
    """Peak memory by service until the run is over; what is read last counts."""
    peaks: dict[str, float] = {}
    while process.poll() is None:
        for name, pid in {**children(process.pid), "desk": process.pid}.items():
            peaks[name] = max(peaks.get(name, 0.0), peak_mb(pid))
        time.sleep(LOOK_S)
    return peaks


def main() -> None:
    """Measure and print."""
    options = parser(__doc__)
    options.add_argument("--days", type=int, default=60)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as made, Path(made, "errors").open("w+") as errors:
        command = (str(PROPDESK), "run", "--days", str(given.days), "--dir", str(Path(made, "desk")), "--json")
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        peaks = watch(process)
        seconds = time.monotonic() - began
        output = process.communicate()[0]
        errors.seek(0)
        said = errors.read()
    first = FIRST_FILL.search(said)
    if process.returncode or first is None or not set(SERVICES) <= set(peaks):
        raise SystemExit(f"the run ended with {process.returncode}, seen were {sorted(peaks)}\n{said}")
    events = json.loads(output)["events"]
    figures = [
        Figure("to the first fill, warm", float(first[1]), "s", target="≤ 5 s"),
        Figure(f"{given.days} sessions, {events} events", seconds, "s", target="60 sessions ≤ 10 s"),
        *(Figure(f"peak memory of {name}", peaks[name], "MB", target="≤ 90 MB") for name in SERVICES if name != "nats-server"),
        Figure("peak memory, sum of all", sum(peaks.values()), "MB", target="≤ 500 MB"),
    ]
    report(figures, as_json=given.json)


if __name__ == "__main__":
    main()
