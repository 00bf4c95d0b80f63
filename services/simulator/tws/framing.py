"""Frames: four bytes of length, big-endian, then that many bytes; in both directions."""

from collections.abc import Iterator
from typing import Final

PREFIX: Final = b"API\0"
HEAD_BYTES: Final = 4
MAX_FRAME_BYTES: Final = 0xFFFFFF


class FrameError(Exception):
    """Bytes that are no frames of this protocol; the connection cannot go on."""


def frame(payload: bytes) -> bytes:
    """One frame."""
    return len(payload).to_bytes(HEAD_BYTES, "big") + payload


class Deframer:
    """Frames out of bytes as they arrive, several in one piece and one in several; the first four bytes are `API\\0`."""

    def __init__(self) -> None:
        """Nothing has arrived."""
        self._buffer = bytearray()
        self._greeted = False

    def feed(self, data: bytes) -> None:
        """Take what arrived."""
        self._buffer += data

    def next(self) -> bytes | None:
        """The next whole frame's payload, None until more arrives; raises `FrameError`."""
        if not self._greeted:
            if not PREFIX.startswith(bytes(self._buffer[: len(PREFIX)])):
                raise FrameError(f"a connection begins with {PREFIX!r}, found {bytes(self._buffer[: len(PREFIX)])!r}")
            if len(self._buffer) < len(PREFIX):
                return None
            del self._buffer[: len(PREFIX)]
            self._greeted = True
        if len(self._buffer) < HEAD_BYTES:
            return None
        size = int.from_bytes(self._buffer[:HEAD_BYTES], "big")
        if size > MAX_FRAME_BYTES:
            raise FrameError(f"a frame of {size} bytes; at most {MAX_FRAME_BYTES} are read")
        if len(self._buffer) < HEAD_BYTES + size:
            return None
        payload = bytes(self._buffer[HEAD_BYTES : HEAD_BYTES + size])
        del self._buffer[: HEAD_BYTES + size]
        return payload


def pieces(frames: list[bytes], split: int, glue: int) -> Iterator[bytes]:
    """What goes into one write each: `glue` frames at a time (0: all of them), cut into pieces of `split` bytes (0: whole)."""
    together = glue or max(len(frames), 1)
    for start in range(0, len(frames), together):
        data = b"".join(frames[start : start + together])
        size = split or len(data) or 1
        for at in range(0, len(data), size):
            yield data[at : at + size]
