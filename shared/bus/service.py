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
from shared.bus.ports import BusError, Fenced, Log, Rpc, Stopping
from shared.bus.prefixes import OnDrop
from shared.bus.settings import ServiceSettings, load_settings
from shared.ledger.state import State
from shared.protocol.envelope import Event, canonical

STOP_GRACE_S: Final = 3.0
OK_EXIT: Final = 0
FAILED_EXIT: Final = 1
FENCED_EXIT: Final = 4

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
        guarding = asyncio.create_task(guard(connection, self._settings.parent_pid))
        serving = asyncio.create_task(self._serve(self._service))
        try:
            await asyncio.wait({guarding, serving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _end(serving)
            await _end(guarding)
            await participant.close()
            await connection.close()
        for task in (serving, guarding):
            if not task.cancelled():
                task.result()

    async def _serve(self, service: Service[C]) -> None:
        await service.rpc.serve(f"rpc.{service.name}.health", service.health)
        if self._prepare is not None:
            await self._prepare(service)
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
    return before it is cancelled. 0: ended cleanly; 4: fenced by another process of the same author; 1: anything else, said
    in one line on stderr. `apply` is the ledger's unless given; `prepare` is called before anything is folded; `on_drop` is told
    of messages that are no facts.
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
