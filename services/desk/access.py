"""What a command needs of a data directory, looked at before anything starts: kinds and permissions of what lies in it."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from services.desk.errors import UsageError
from services.desk.layout import Layout

MAX_LOOKED_AT: Final = 20_000
"""Files below the log and the broker's folder that are looked at; a desk has some dozens."""

FOLDER: Final = os.R_OK | os.W_OK | os.X_OK
FILE: Final = os.R_OK | os.W_OK
_NAMES: Final = ((os.R_OK, "read"), (os.W_OK, "written"), (os.X_OK, "entered"))


def check_access(layout: Layout) -> None:
    """Raise `UsageError` for the first path of a desk that is of the wrong kind, or cannot be read and written."""
    root = layout.root
    if not _is_there(root):
        return
    _check_folder(root)
    for folder in (layout.stream, layout.stream / "jetstream", layout.broker, layout.logs):
        if _lies(folder):
            _check_folder(folder)
    for file in (layout.lock, *_with(layout.journal, "", ".lock", "-wal", "-shm"), layout.broker / "journal.jsonl"):
        if _lies(file):
            _check_file(file, FILE)
    for folder in (layout.stream, layout.broker, layout.logs):
        _check_below(folder)


def check_readable(layout: Layout) -> None:
    """Raise `UsageError` if lock or read models, all that `status` needs, cannot be read."""
    if not _is_there(layout.root):
        return
    _check_folder(layout.root, os.R_OK | os.X_OK)
    for file in (layout.lock, *_with(layout.journal, "", "-wal", "-shm")):
        if _lies(file):
            _check_file(file, os.R_OK)


def _is_there(root: Path) -> bool:
    """Whether something has the directory's name; raises `UsageError` where one may not or cannot even look."""
    try:
        root.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        for folder in reversed(root.absolute().parents):
            _check_permission(folder, os.X_OK)
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"{root}: {reason}: name another directory with --dir or PROPDESK_DIR") from error
    return True


def _with(path: Path, *endings: str) -> tuple[Path, ...]:
    return tuple(path.with_name(path.name + ending) for ending in endings)


def _check_below(folder: Path) -> None:
    """Everything in a folder; a running desk may remove files meanwhile."""
    for looked_at, (path, is_folder) in enumerate(_walk(folder)):
        if looked_at >= MAX_LOOKED_AT:
            return
        if is_folder:
            _check_folder(path)
        elif _lies(path):
            _check_file(path, FILE)


def _walk(folder: Path) -> Iterator[tuple[Path, bool]]:
    """Every path below, folders before what is in them."""
    for place, folders, files in os.walk(folder):
        for name in folders:
            yield Path(place, name), True
        for name in files:
            yield Path(place, name), False


def _check_folder(path: Path, needs: int = FOLDER) -> None:
    if not _lies(path):
        return
    if not path.is_dir():
        raise UsageError(f"{path} is no directory: move it away, or name another directory with --dir or PROPDESK_DIR")
    _check_permission(path, needs)


def _check_file(path: Path, needs: int) -> None:
    if not path.is_file():
        raise UsageError(f"{path} is no file: move it away, or name another directory with --dir or PROPDESK_DIR")
    _check_permission(path, needs)


def _check_permission(path: Path, needs: int) -> None:
    missing = [name for bit, name in _NAMES if needs & bit and not os.access(path, bit)]
    if missing and _lies(path):
        words = " or ".join(missing)
        raise UsageError(f"{path} cannot be {words} by this user: change its permissions, or name another directory with --dir")


def _lies(path: Path) -> bool:
    """Whether something has this name, even a link to nowhere. What cannot be looked at is another path's fault."""
    try:
        return os.path.lexists(path)
    except OSError:
        return False
