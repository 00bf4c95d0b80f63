"""`propdesk run`: takes the data directory, runs the stack in it, and leaves no child behind."""

import asyncio
from dataclasses import dataclass, field
from typing import Protocol

from services.desk.access import check_access
from services.desk.arguments import Prepared
from services.desk.console import say
from services.desk.desk_keys import DeskKeys
from services.desk.errors import DeskError, Interrupted, LogLost, UsageError
from services.desk.layout import Layout, put_aside, writing
from services.desk.lock import Lock
from services.desk.logs import logging_to
from services.desk.report import Report
from services.desk.settings import Bounds
from services.desk.signals import SIGNALS
from services.desk.stopped import noted
from services.desk.supervisor import Supervisor
from services.desk.tally import DeskState


class Display(Protocol):
    """What watches a run."""

    def show(self, state: DeskState) -> None:
        """The log was folded up to here."""
        ...

    def result(self, report: Report, state: DeskState) -> None:
        """The run is over."""
        ...

    def end(self) -> None:
        """Nothing more will be shown, however the run ended."""
        ...


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that a run needs to know. `began` is the monotonic time at which the command started."""

    prepared: Prepared
    layout: Layout
    fresh: bool
    display: Display
    began: float
    bounds: Bounds = field(default_factory=Bounds)
    log_level: str = "info"


def run(job: Job) -> None:
    """Trade the whole window and show the result; raises `DeskError`."""
    lock = open_directory(job.layout, fresh=job.fresh, bounds=job.bounds)
    try:
        with logging_to(job.layout.log_of("desk")):
            asyncio.run(_supervised(job, lock))
    except Interrupted:
        job.display.end()
        say("propdesk: the run can go on: type the same command again, without --fresh")
        raise
    except LogLost as error:
        raise noted(job.layout, error) from error
    finally:
        job.display.end()
        lock.release()


def open_directory(layout: Layout, *, fresh: bool, bounds: Bounds) -> Lock:
    """Take the data directory: lock it, with `fresh` put an old one aside first, make its folders; raises `UsageError`."""
    check_access(layout)
    check_foreign(layout)
    if fresh and layout.is_ours:
        _make_way(layout, bounds)
    created = not layout.root.exists()
    with writing(layout.root):
        layout.root.mkdir(parents=True, exist_ok=True)
    try:
        lock = Lock.take(layout, bounds.orphans_s)
        if layout.has_unsigned_log:
            lock.release()
            raise UsageError(f"{layout.root} holds a log of a version without keys: add --fresh to put it aside, or use --dir")
        layout.make()
    except DeskError:
        if created:
            _remove_if_empty(layout)
        raise
    return lock


def check_foreign(layout: Layout) -> None:
    """Raise `UsageError` for a directory that is somebody else's."""
    if layout.is_foreign:
        raise UsageError(f"{layout.root} holds files that are not a desk's: name an empty or a new directory with --dir")


def _make_way(layout: Layout, bounds: Bounds) -> None:
    """Put the old directory aside, which nobody may be using."""
    lock = Lock.take(layout, bounds.orphans_s)
    try:
        say(f"propdesk: the old directory is now {put_aside(layout)}")
    finally:
        lock.release()


def _remove_if_empty(layout: Layout) -> None:
    """Leave nothing behind where nothing could be started."""
    try:
        layout.root.rmdir()
    except OSError:
        return


async def _supervised(job: Job, lock: Lock) -> None:
    """Run with children, and without any when it is over, however it ends."""
    from services.desk.trading import trade

    keys = DeskKeys.prepare(job.layout, (book.book for book in job.prepared.plan.args.books))
    supervisor = Supervisor(job.layout, lock, job.bounds, users=keys.users)
    loop = asyncio.get_running_loop()

    def end(interrupted: Interrupted) -> None:
        loop.call_soon_threadsafe(supervisor.fail, interrupted)

    with SIGNALS.handing_to(end):
        try:
            await trade(job, supervisor, keys)
        finally:
            await supervisor.stop()
