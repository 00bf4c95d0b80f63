"""The port: chosen once, written where clients look for it, taken again after a restart."""

import logging
import os
import socket
from pathlib import Path
from typing import Final

HOST: Final = "127.0.0.1"
NAME: Final = "port"
MAX_PORT: Final = 65_535
MAX_TEXT_BYTES: Final = 16
_BACKLOG: Final = 64
_log: Final = logging.getLogger(__name__)


class PortError(Exception):
    """A port that was asked for and cannot be had."""


def listen(folder: Path, port: int, name: str = NAME) -> socket.socket:
    """A listening socket on loopback; 0 takes the port of the last time if it is free, else any. Raises `PortError`."""
    if port:
        try:
            return _bind(port)
        except OSError as error:
            raise PortError(
                f"port {port} cannot be used ({error.strerror}): choose another one, or 0 for any that is free"
            ) from error
    last = _read(folder / name)
    if last:
        try:
            return _bind(last)
        except OSError as error:
            _log.warning("port %d of the last time cannot be used (%s): taking another one", last, error.strerror)
    return _bind(0)


def announce(folder: Path, listener: socket.socket, name: str = NAME) -> int:
    """Write the port to `<folder>/<name>`, all of it or nothing, and return it; raises `PortError`."""
    port: int = listener.getsockname()[1]
    draft = folder / f"{name}.new"
    try:
        draft.write_text(f"{port}\n", "ascii")
        os.replace(draft, folder / name)
    except OSError as error:
        raise PortError(f"{folder / name} cannot be written ({error.strerror}): check the folder") from error
    return port


def _bind(port: int) -> socket.socket:
    """A listening, non-blocking socket."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


def _read(path: Path) -> int:
    """The port in the file, 0 if there is none that can be one."""
    if not path.is_file():
        return 0
    try:
        with path.open("rb") as file:
            text = file.read(MAX_TEXT_BYTES).decode("ascii").strip()
    except (OSError, ValueError):
        return 0
    return int(text) if text.isdigit() and len(text) <= len(str(MAX_PORT)) and int(text) <= MAX_PORT else 0
