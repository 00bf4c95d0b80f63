"""What is shown: lines for a person on stderr, results on stdout; neither a closed pipe nor a closed terminal is an error."""

import json
import os
import sys
from typing import TextIO


def say(line: str) -> None:
    """Show a line to the person who watches; silent once stderr is closed."""
    _write(sys.stderr, line)


def show(text: str) -> None:
    """Print text of a result on stdout; silent once nobody reads it."""
    _write(sys.stdout, text)


def show_json(document: object) -> None:
    """Print the one JSON document of a `--json` command: strict JSON on one line, ASCII under any locale."""
    show(json.dumps(document, allow_nan=False))


def is_terminal(stream: TextIO) -> bool:
    """Whether a person sees the stream as it is written."""
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def _write(stream: TextIO | None, text: str) -> None:
    """Write a line; a stream that is closed is sent to nowhere from then on, so that no later write or flush fails."""
    if stream is None or stream.closed:
        return
    try:
        stream.write(text.encode(stream.encoding or "utf-8", "replace").decode(stream.encoding or "utf-8") + "\n")
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
