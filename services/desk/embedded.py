"""A nats-server of our own for commands that need the log while no desk runs."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from services.desk.access import check_access
from services.desk.completeness import check_log
from services.desk.desk_keys import DeskKeys, books_with_keys
from services.desk.errors import Interrupted, LogLost, RunFailed, UsageError
from services.desk.layout import Layout
from services.desk.lock import Lock, is_held
from services.desk.server import url_of
from services.desk.settings import Bounds
from services.desk.signals import SIGNALS
from services.desk.stopped import noted
from services.desk.supervisor import Supervisor
from shared.bus.jetstream import Connection, connect
from shared.bus.keys import KeyFileError
from shared.bus.ports import BusError, LogBroken, Refused

Result = TypeVar("Result")
Work = Callable[[Connection, DeskKeys], Awaitable[Result]]
ROLE = "desk"
CONNECT_WAIT_S = 10.0
STARTING = "a desk is starting in {}: try again in a moment"


def running_desk(layout: Layout) -> int | None:
    """The pid of the desk that runs in this directory, None if none does.

    Raises `UsageError` if there is no log, or one that cannot be used, `RunFailed` while a desk that starts has not made it yet.
    """
    check_access(layout)
    if not layout.has_log:
        if is_held(layout) is not None:
            raise RunFailed(STARTING.format(layout.root))
        raise UsageError(f"there is no event log in {layout.root}: start a run, or name the directory with --dir")
    return is_held(layout)


def with_log(layout: Layout, work: Work[Result], bounds: Bounds | None = None) -> Result:
    """Do `work` on the log of a directory in which no desk runs: locked, with a nats-server started for it and ended after it.

    Raises `LogLost` before any work if the log is not what the services saw of it.
    """
    bounds = bounds or Bounds()
    lock = Lock.take(layout, bounds.orphans_s)
    try:
        return asyncio.run(_locked(layout, lock, work, bounds))
    except (Refused, KeyFileError) as error:
        raise UsageError(str(error)) from error
    except LogBroken as error:
        raise noted(layout, LogLost(str(error))) from error
    except BusError as error:
        raise RunFailed(f"{type(error).__name__}: {error}") from error
    finally:
        lock.release()


def with_running(layout: Layout, work: Work[Result]) -> Result:
    """Do `work` over the nats-server of the desk that runs in this directory."""
    url = url_of(layout)
    if url is None:
        raise RunFailed(STARTING.format(layout.root))
    try:
        return asyncio.run(_connected(url, DeskKeys.prepare(layout), work))
    except BusError as error:
        raise RunFailed(f"the desk in {layout.root} does not answer ({error}): try again") from error


async def _locked(layout: Layout, lock: Lock, work: Work[Result], bounds: Bounds) -> Result:
    """Start the server, work, and stop it, whatever happens."""
    layout.make()
    keys = DeskKeys.prepare(layout, books_with_keys(layout))
    supervisor = Supervisor(layout, lock, bounds, users=keys.users)
    loop = asyncio.get_running_loop()

    async def checked(connection: Connection, desk_keys: DeskKeys) -> Result:
        await check_log(layout, connection.log)
        return await work(connection, desk_keys)

    def end(interrupted: Interrupted) -> None:
        loop.call_soon_threadsafe(supervisor.fail, interrupted)

    with SIGNALS.handing_to(end):
        try:
            await supervisor.start_server()
            return await supervisor.first_of(_connected(supervisor.server.url, keys, checked))
        finally:
            await supervisor.stop()


async def _connected(url: str, keys: DeskKeys, work: Work[Result]) -> Result:
    """Connect, work, and close."""
    connection = await connect(url, ROLE, user=keys.user(ROLE), wait_s=CONNECT_WAIT_S)
    try:
        return await work(connection, keys)
    finally:
        await connection.close()
