"""`stopped.json`: why a desk was stopped for good, and what to do. Removed at the next start that finds the log whole."""

from contextlib import suppress
from datetime import UTC, datetime

import msgspec

from services.desk.errors import LogLost
from services.desk.layout import Layout


class Stopped(msgspec.Struct, frozen=True):
    """Reason and time (UTC, to the second)."""

    reason: str
    at: str


def advice(layout: Layout) -> str:
    """What can be done about a log that lost something."""
    return (
        f"nothing is appended to it or traded on it: replace {layout.stream} by a copy that still holds these sequences, "
        f"or type `propdesk run --fresh`, which renames {layout.root} and starts anew"
    )


def noted(layout: Layout, error: LogLost) -> LogLost:
    """The error with what to do, after its reason was written for `propdesk status`; a full disk must not hide it."""
    stopped = Stopped(str(error), f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
    draft = layout.stopped.with_suffix(".new")
    with suppress(OSError):
        draft.write_bytes(msgspec.json.encode(stopped))
        draft.replace(layout.stopped)
    return LogLost(f"the log is incomplete: {error}; {advice(layout)}", error.details)


def read_stopped(layout: Layout) -> Stopped | None:
    """Why the desk was stopped, None if it was not."""
    try:
        return msgspec.json.decode(layout.stopped.read_bytes(), type=Stopped)
    except (OSError, msgspec.DecodeError):
        return None


def forget(layout: Layout) -> None:
    """The log was found whole."""
    layout.stopped.unlink(missing_ok=True)
