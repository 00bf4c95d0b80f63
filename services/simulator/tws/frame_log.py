"""A log of every frame, both ways: one JSON object a line, up to a bound."""

import json
import logging
from pathlib import Path
from typing import Final, Literal

MAX_BYTES: Final = 512 * 1024 * 1024
_log: Final = logging.getLogger(__name__)


class FrameLog:
    """Appends `{"n", "clock", "client", "to", "fields"}`; `to` is `server` or `client`, fields are joined by `|`."""

    def __init__(self, path: Path | None) -> None:
        """Append to `path`, or log nothing; raises `OSError`."""
        self._file = None if path is None else path.open("ab")
        self._left = 0 if path is None else MAX_BYTES - path.stat().st_size
        self._count = 0

    def write(self, clock: str | None, client: int | None, to: Literal["server", "client"], payload: bytes) -> None:
        """Log one frame; after `MAX_BYTES` it says so once and stops."""
        if self._file is None:
            return None
        self._count += 1
        text = payload.decode("utf-8", "replace").replace("\0", "|")
        line = json.dumps({"n": self._count, "clock": clock, "client": client, "to": to, "fields": text}).encode() + b"\n"
        self._left -= len(line)
        if self._left < 0:
            _log.error("the frame log is full (%d bytes): frames are no longer logged", MAX_BYTES)
            return self.close()
        self._file.write(line)
        self._file.flush()
        return None

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
