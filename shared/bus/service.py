"""The shell that all services share: connect, fold to the end, say how one is, run, and end cleanly."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Final, Generic, NoReturn, TypeVar

import structlog

from shared.bus.identity import Line, identity_of
from shared.bus.lifeline import die_with_parent, guard
from shared.bus.logs import configure_logs
from shared.bus.participant import Participant, instance_name
from shared.bus.ports import BusError, Fenced, Log, LogBroken, Rpc, Stopping
from shared.bus.prefixes import OnDrop
from shared.bus.settings import ServiceSettings, load_settings
from shared.bus.snapshots import Snapshots
from shared.bus.watch import LogWatch
from shared.ledger.state import State
from shared.protocol.envelope import Event, canonical

STOP_GRACE_S: Final = 3.0
OK_EXIT: Final = 0
FAILED_EXIT: Final = 1
FENCED_EXIT: Final = 4
LOG_BROKEN_EXIT: Final = 5
"""Said to a supervisor only, which must not start anything again; whoever started a service by hand gets `FAILED_EXIT`."""

C = TypeVar("C", bound=ServiceSettings)
Apply = Callable[[State, Event], State]


class Service(Generic[C]):
    """What a service's body works with."""

    def __init__(self, name: str, settings: C, connection: Line, participant: Participant[State]) -> None:
        """Made by `run_service`."""
        self.name, self.settings, self.participant = name, settings, participant
        self.log: Log = connection.log
        self.rpc: Rpc = connection.rpc
        self.logger = structlog.get_logger(name)
        self.stopping = False
        """Whether a signal asked this process to end; `participant.append` raises `Stopping` then."""
        self.details: Callable[[], dict[str, object]] = dict
        """What this service adds to the answer of its health."""
        self.snapshot_limit: int | None = None
        """Set by `prepare` where every event behind this sequence is needed: no later snapshot is used."""

    def stop(self) -> None:
        """Append nothing more, and let the body return."""
        self.stopping = True
        self.participant.stop()

    async def health(self, _payload: bytes) -> bytes:
        """The answer on `rpc.<service>.health`; `ready` once everything in the log was folded."""
        who = self.participant
        return canonical(
            {
                "service": self.name,
                "instance": who.instance,
                "pid": os.getpid(),
                "seq": who.cursor,
                "ready": who.ready,
                **self.details(),
            }
        )


Body = Callable[[Service[C]], Awaitable[None]]


class _Run(Generic[C]):
    """One run of a service, from connecting to its exit code."""

    def __init__(
        self,
        author: str,
        settings: C,
        body: Body[C],
        apply: Apply,
        types: frozenset[str] | None,
        prepare: Body[C] | None,
        on_drop: OnDrop | None,
    ) -> None:
        self._author, self._settings, self._body, self._prepare = author, settings, body, prepare
        self._apply, self._types, self._on_drop = apply, types, on_drop
        self._service: Service[C] | None = None
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """What a signal does."""
        self._stop.set()
        if self._service is not None:
            self._service.stop()

    async def run(self) -> None:
        """Work until the body returns, a signal came and the grace is over, or something fails, which is raised."""
        work = asyncio.create_task(self._work())
        stop = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
            if self._service is not None:
                await asyncio.wait({work}, timeout=STOP_GRACE_S)
        finally:
            await _end(stop)
            await _end(work)
        if not work.cancelled():
            work.result()

    async def _work(self) -> None:
        identity = identity_of(self._author, self._settings)
        connection = await identity.connect(self._settings.nats_url)
        participant = Participant(
            connection.log,
            connection.rpc,
            author=self._author,
            instance=instance_name(),
            desk=self._settings.desk,
            state=State(),
            apply=self._apply,
            types=self._types,
            keyring=identity.keyring(),
            signer=identity.signer(),
            on_drop=self._on_drop,
        )
        self._service = Service(self._author, self._settings, connection, participant)
        folder = self._settings.folder_of(self._author)
        watch = LogWatch(connection, participant, folder, f"the {self._author}")
        snapshots = Snapshots(connection.log, participant, folder)
        work = (
            self._serve(self._service, watch, snapshots),
            guard(connection, self._settings.parent_pid),
            watch.run(),
            snapshots.run(),
        )
        tasks: list[asyncio.Task[None]] = [asyncio.create_task(part) for part in work]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                await _end(task)
            await participant.close()
            await watch.close()
            await connection.close()
        for task in tasks:
            if not task.cancelled():
                task.result()
        await snapshots.write()

    async def _serve(self, service: Service[C], watch: LogWatch, snapshots: Snapshots) -> None:
        await service.rpc.serve(f"rpc.{service.name}.health", service.health)
        await watch.begin()
        if self._prepare is not None:
            await self._prepare(service)
        await snapshots.restore(service.snapshot_limit)
        await service.participant.start()
        service.logger.info("ready", seq=service.participant.cursor)
        if not self._stop.is_set():
            await self._body(service)


async def _end(task: asyncio.Task[object]) -> None:
    """Cancel a task and wait until it is over, whatever it raises."""
    task.cancel()
    await asyncio.wait({task})


async def run_service(
    author: str,
    settings: C,
    body: Body[C],
    *,
    apply: Apply | None = None,
    types: frozenset[str] | None = None,
    prepare: Body[C] | None = None,
    on_drop: OnDrop | None = None,
) -> int:
    """Run a service until its body returns or a signal (SIGTERM, SIGINT) ends it; returns the exit code.

    `body` is called when the whole log is folded. After a signal nothing is appended, and the body has `STOP_GRACE_S` to
    return before it is cancelled. 0: ended cleanly; 4: fenced by another process of the same author; 5: the log is not what
    was seen of it, if somebody supervises this process; 1: anything else, said in one line on stderr. `apply` is the ledger's
    unless given; `prepare` is called before anything is folded; `on_drop` is told of messages that are no facts.
    """
    if apply is None:
        from shared.ledger.fold import apply as fold

        apply = fold
    run = _Run(author, settings, body, apply, types, prepare, on_drop)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, run.stop)
    try:
        await run.run()
    except Stopping:
        return OK_EXIT
    except Fenced as error:
        return _say(author, error, FENCED_EXIT)
    except LogBroken as error:
        return _say(author, error, FAILED_EXIT if settings.parent_pid is None else LOG_BROKEN_EXIT)
    except BusError as error:
        return _say(author, error, FAILED_EXIT)
    except Exception as error:
        structlog.get_logger(author).exception("service failed")
        return _say(author, error, FAILED_EXIT)
    return OK_EXIT


def _say(author: str, error: Exception, code: int) -> int:
    print(f"{author}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    return code


def main(
    author: str,
    settings_type: type[C],
    body: Body[C],
    *,
    apply: Apply | None = None,
    types: frozenset[str] | None = None,
    prepare: Body[C] | None = None,
    on_drop: OnDrop | None = None,
) -> NoReturn:
    """What `services/<name>/__main__.py` calls: read the settings, run the service, exit with its code."""
    settings = load_settings(settings_type)
    configure_logs(author, settings.log_level)
    try:
        if settings.parent_pid is not None:
            die_with_parent(settings.parent_pid)
    except BusError as error:
        sys.exit(_say(author, error, FAILED_EXIT))
    sys.exit(asyncio.run(run_service(author, settings, body, apply=apply, types=types, prepare=prepare, on_drop=on_drop)))
