"""Reading the files of sources; the only module here that touches a disk.

The log names the file of a source by the hash of its content, and the agent reads the copy that the desk kept under that name.
So a run that is resumed decides as it began, wherever the file is by then.
"""

import hashlib
from pathlib import Path
from typing import Final

from services.agent.sources.decisions import Decisions, parse_decisions
from services.agent.sources.errors import SourceError
from shared.protocol.files import FileRefused, read_regular

MAX_FILE_BYTES: Final = 16 * 1024 * 1024
KEPT: Final = "sha256:"
FOLDER: Final = "blobs"


def load_decisions(argument: str, data_dir: Path | None = None) -> Decisions:
    """Read a decisions file by its path, or by `sha256:<hex>` the copy in `data_dir`; raises `SourceError` with file and line."""
    if not argument.startswith(KEPT) or data_dir is None:
        path = Path(argument)
        return parse_decisions(path.name, _text(path.name, _read(path)))
    path = _kept(argument, data_dir)
    data = _read(path)
    if _name(data) != argument:
        raise SourceError("the kept copy of the decisions is damaged: run again with the original file", str(path))
    return parse_decisions(path.name, _text(path.name, data))


def content_name(argument: str) -> str:
    """`sha256:<hex>` of a file's content; raises `SourceError` if it cannot be read."""
    return _name(_read(Path(argument)))


def keep(argument: str, data_dir: Path) -> None:
    """Copy a file into `data_dir` under its content's name, unless it is there already; raises `SourceError`."""
    data = _read(Path(argument))
    path = _kept(_name(data), data_dir)
    try:
        if path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        unfinished.write_bytes(data)
        unfinished.replace(path)
    except OSError as error:
        raise SourceError(f"cannot be kept ({error.strerror}): check the data directory", str(path)) from error


def _name(data: bytes) -> str:
    """The name of a content."""
    return f"{KEPT}{hashlib.sha256(data).hexdigest()}"


def _kept(name: str, data_dir: Path) -> Path:
    """Where the copy of a content is."""
    return data_dir / FOLDER / name.removeprefix(KEPT)


def _read(path: Path) -> bytes:
    """The bytes of a regular file; raises `SourceError`. Anything else is never opened: a pipe would wait, a device never end."""
    try:
        return read_regular(path, MAX_FILE_BYTES, "a file of JSON lines")
    except FileRefused as error:
        raise SourceError(str(error), str(path)) from error


def _text(file: str, data: bytes) -> str:
    """The text without its byte order mark; raises `SourceError`."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(f"byte 0x{data[error.start]:02x} is not UTF-8: save the file as UTF-8", file, line) from error
