"""Desks whose log is damaged while nobody runs, and what they must not have done then."""

import shutil
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.desks import Message, Watcher, command, read_log, running, wait_for

DAYS: Final = "40"


@dataclass(frozen=True)
class Desk:
    """A desk that was interrupted in the middle of its run: its directory, and what its log held then."""

    folder: Path
    log: list[Message]

    @property
    def last_seq(self) -> int:
        """The last sequence of its log."""
        return self.log[-1].seq

    @property
    def blocks(self) -> list[Path]:
        """The log's block files, oldest first."""
        found = (self.folder / "js").glob("jetstream/*/streams/EV/msgs/*.blk")
        return sorted(found, key=lambda path: int(path.stem))

    def copy(self, folder: Path) -> "Desk":
        """The same desk in another directory."""
        shutil.copytree(self.folder, folder)
        return Desk(folder, self.log)

    def forget_index(self) -> None:
        """What a kill of the server does: it finds out again at its start what the block files hold."""
        for index in (self.folder / "js").glob("jetstream/*/streams/EV/msgs/index.db"):
            index.unlink()

    def orders_at_the_broker(self) -> bytes:
        """Everything that the broker ever wrote down."""
        return b"".join(path.read_bytes() for path in sorted((self.folder / "broker").glob("*.jsonl")))


def flip_bit(block: Path, part: float = 0.5) -> None:
    """Change one bit at this part of the file."""
    content = bytearray(block.read_bytes())
    content[int(len(content) * part)] ^= 1
    block.write_bytes(content)


def truncate(block: Path, part: float = 0.6) -> None:
    """Keep only the first part of the file."""
    with block.open("r+b") as file:
        file.truncate(int(block.stat().st_size * part))


def left(desk: Desk) -> list[Message]:
    """What the log still gives to whoever reads all that it has."""
    return read_log(desk.folder, holes=True)


def start(desk: Desk, *more: str) -> tuple[int, str]:
    """`propdesk run` in its directory: exit code and stderr."""
    done = command("run", "--json", "--no-serve", "--dir", str(desk.folder), "--days", DAYS, *more)
    assert done.returncode == 0 or done.stdout == ""
    return done.returncode, done.stderr


def interrupted(folder: Path, after_seq: int = 400) -> Desk:
    """A desk that ran until its log held so many events, and was then told to stop."""
    with running(folder, "--days", DAYS) as process:
        with Watcher(folder) as watcher:
            wait_for(lambda: (newest := watcher.last()) is not None and newest.seq >= after_seq)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    return Desk(folder, read_log(folder))
