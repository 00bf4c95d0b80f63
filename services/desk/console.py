"""What is shown: lines for a person on stderr, results on stdout. A closed pipe or terminal is no error, a full one is."""

import errno
import json
import os
import select
import sys
from typing import Final, TextIO

from services.desk.errors import OutputFailed

_CLOSED: Final = frozenset({errno.EPIPE, errno.EIO, errno.EBADF, errno.ECONNRESET})


def say(line: str) -> None:
    """Show a line to the person who watches; silent once stderr takes nothing."""
    try:
        _write(sys.stderr, line)
    except OSError:
        _to_nowhere(sys.stderr)


def show(text: str) -> None:
    """Print text of a result on stdout; silent once nobody reads it. Raises `OutputFailed` if it cannot be written."""
    try:
        _write(sys.stdout, text)
    except OSError as error:
        _give_up(error)


def show_json(document: object) -> None:
    """Print the one JSON document of a `--json` command: strict JSON on one line, ASCII under any locale."""
    show(json.dumps(document, allow_nan=False))


def flush() -> None:
    """Write what stdout still holds; raises `OutputFailed`, once."""
    if sys.stdout is None or sys.stdout.closed:
        return
    try:
        sys.stdout.flush()
    except OSError as error:
        _give_up(error)


def nobody_reads() -> bool:
    """Whether stdout is a pipe whose reader has gone."""
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), select.POLLOUT)
        return any(found & select.POLLERR for _, found in poll.poll(0))
    except (OSError, AttributeError, ValueError):
        return False


def discard() -> None:
    """Send stdout to nowhere: what it still holds cannot be written."""
    _to_nowhere(sys.stdout)


def is_terminal(stream: TextIO) -> bool:
    """Whether a person sees the stream as it is written."""
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def _write(stream: TextIO | None, text: str) -> None:
    """Write a line, with what the stream's encoding cannot say replaced; raises `OSError`."""
    if stream is None or stream.closed:
        return
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "replace").decode(encoding) + "\n")
    stream.flush()


def _give_up(error: OSError) -> None:
    """Nothing more goes to stdout; raises `OutputFailed` unless its reader only went away."""
    discard()
    if error.errno not in _CLOSED:
        raise OutputFailed(f"the result cannot be written to stdout: {(error.strerror or str(error)).lower()}") from error


def _to_nowhere(stream: TextIO | None) -> None:
    """No later write or flush of a stream fails."""
    if stream is None:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
