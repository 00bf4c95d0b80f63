"""Bounds of the supervisor: how long it waits, how often it tries. Tests make them small."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """Every wait and every retry of the command, in seconds of the wall clock unless named otherwise.

    `backoff_s` doubles with each death in a row up to `backoff_max_s`; `deaths` in a row without being ready in between end the
    run. `grace_s` is what a child has after SIGTERM. `ready_s` is how long a living child may take to become ready, `silent_s`
    how long one may leave a health request unanswered while nothing moves: both are far beyond a pause of 20 s, because a
    stopped service must only make time stand still. `stall_s` without a new event makes the supervisor look, `stuck_s` gives up.

    With less than `disk_full_bytes` free the disk counts as full. It is looked at every `disk_poll_s`, named when nothing moved
    for `disk_still_s` or something died, and again every `disk_say_s`; for `disk_after_s` after that it explains lost requests.
    """

    backoff_s: float = 0.2
    backoff_max_s: float = 5.0
    deaths: int = 10
    grace_s: float = 5.0
    ready_s: float = 180.0
    probe_every_s: float = 0.1
    probe_timeout_s: float = 2.0
    silent_s: float = 90.0
    stall_s: float = 30.0
    stuck_s: float = 600.0
    orphans_s: float = 6.0
    disk_full_bytes: int = 1024 * 1024
    disk_poll_s: float = 1.0
    disk_still_s: float = 2.0
    disk_say_s: float = 30.0
    disk_after_s: float = 120.0

    def backoff(self, deaths: int) -> float:
        """The pause after the given number of deaths in a row."""
        return float(min(self.backoff_max_s, self.backoff_s * 2 ** min(deaths - 1, MAX_DOUBLINGS)))


MAX_DOUBLINGS = 30
"""Of a pause: a service that dies on a full disk may die any number of times."""

MAX_LOG_BYTES = 20 * 1024 * 1024
"""A service's log file is put aside (`.1`, the one before is dropped) when it is larger at a start of the service."""

LAST_LINES = 10
LAST_BYTES = 8192
