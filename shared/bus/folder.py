"""A service's own folder: small disposable files, each written whole or not at all."""

import os
from pathlib import Path
from typing import Final

SEEN_FILE: Final = "seen.json"
SNAPSHOT_FILE: Final = "snapshot.json"
DRAFT: Final = ".new-"
"""Between a file's name and the pid of who writes it: a process that was stopped may come back beside its successor."""


def write_whole(path: Path, content: bytes) -> None:
    """Put `content` at `path` so that it survives a power cut, and so that nobody ever reads half of it; raises `OSError`."""
    draft = path.with_name(f"{path.name}{DRAFT}{os.getpid()}")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Let what was made, renamed or removed in `folder` survive a power cut; raises `OSError`."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make a service's folder, and remove what a killed process left half written; raises `OSError`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (SEEN_FILE, SNAPSHOT_FILE):
        for draft in folder.glob(f"{name}{DRAFT}*"):
            draft.unlink(missing_ok=True)
