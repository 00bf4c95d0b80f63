"""A finished run, kept with its log."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.desks import Message, read_log, run_json

DAYS = "40"


@dataclass(frozen=True)
class Finished:
    """A run that ended: where it lies, what it printed, what its log holds."""

    folder: Path
    result: dict[str, Any]
    log: list[Message]


def finished(folder: Path, *args: str, env: dict[str, str] | None = None) -> Finished:
    """Run to the end and read the log."""
    result = run_json(folder, *args, env=env)
    return Finished(folder, result, read_log(folder))
