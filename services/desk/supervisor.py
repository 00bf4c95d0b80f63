"""The embedded stack: nats-server and the services as children, kept running until the run is over."""

import asyncio
import time
from collections.abc import Coroutine, Iterable
from typing import Any, Final, Never, TypeVar

from services.desk.children import Child, Endings, Ready
from services.desk.console import say
from services.desk.disk import Disk, FreeBytes, free_bytes
from services.desk.errors import RunFailed
from services.desk.layout import Layout
from services.desk.lock import Lock
from services.desk.process import Spec, end, last_lines
from services.desk.server import NAME, NatsServer, Users
from services.desk.settings import Bounds

SERVER_PROBE_S: Final = 0.005
Result = TypeVar("Result")


class Supervisor:
    """Children of one data directory whose lock we hold. `stop` must be called however the run ends."""

    def __init__(
        self, layout: Layout, lock: Lock, bounds: Bounds, users: Users | None = None, free: FreeBytes = free_bytes
    ) -> None:
        """Nothing is started yet. Only these `users` may connect; without, everybody may do everything (tests).

        `free` tells the space left in the directory.
        """
        self.disk = Disk(layout.root, bounds, free)
        self.server, self.lock = NatsServer(layout, users), lock
        self._bounds = bounds
        self.server_child: Child | None = None
        self._children: dict[str, Child] = {}
        self._retired: dict[str, Child] = {}
        self._keeping: dict[str, asyncio.Task[Never]] = {}
        self._beside: set[asyncio.Task[Never]] = set()
        self._failure: asyncio.Future[Never] = asyncio.get_running_loop().create_future()
        self._ending: asyncio.Future[None] | None = None

    async def start_server(self) -> None:
        """Start nats-server and wait until it listens; raises `RunFailed` when it does not come up."""
        spec = self.server.prepare((self.lock.descriptor,))
        self.watch(self.disk.watch(self._restart_server))
        self.server_child = self._keep(spec, self.server.is_ready, every_s=SERVER_PROBE_S)
        await self.first_of(self.server_child.is_ready.wait())

    async def reload_server(self) -> None:
        """Let the running server read its users anew; raises `RunFailed`."""
        child = self.server_child
        if child is not None and child.process is not None and child.process.poll() is None:
            await self.server.reload(child.process)

    def start(self, spec: Spec, ready: Ready, endings: Endings) -> Child:
        """Start a service and keep it running."""
        child = self._children[spec.name] = self._keep(spec, ready, endings)
        return child

    def _keep(self, spec: Spec, ready: Ready, endings: Endings | None = None, every_s: float | None = None) -> Child:
        """Keep one process running; its failure is ours."""
        child = Child(spec, ready, self._bounds, self.disk, endings or {}, every_s or self._bounds.probe_every_s)
        task = self._keeping[spec.name] = asyncio.ensure_future(child.keep())
        task.add_done_callback(self._note)
        return child

    def _note(self, task: asyncio.Task[Never]) -> None:
        """A child that cannot be kept running ends the run."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fail(error)

    def _restart_server(self) -> None:
        """nats-server keeps its log shut once it was out of space, until it is started again."""
        if self.server_child is not None:
            self.server_child.kill()

    def watch(self, work: Coroutine[Any, Any, Never]) -> asyncio.Task[Never]:
        """Do `work` beside the run until `stop`, or until the returned task is cancelled; its failure is ours."""
        task = asyncio.ensure_future(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)
        task.add_done_callback(self._note)
        return task

    def fail(self, error: BaseException) -> None:
        """End what `first_of` waits for, and all services from this moment on; the first call counts."""
        if not self._failure.done():
            self._failure.set_exception(error)
            self._ending = asyncio.ensure_future(self.stop_services())

    async def first_of(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of `work`; raises what ended a child for good, or came by `fail`, if that is first."""
        task = asyncio.ensure_future(work)
        try:
            waits: list[asyncio.Future[Any]] = [task, self._failure]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=self._bounds.grace_s)
        if self._failure.done() and (not task.done() or task.cancelled() or task.exception() is not None):
            self._failure.result()
        return task.result()

    async def kill_silent(self) -> tuple[str, ...]:
        """Ask every service whether it is there, for up to `silent_s`; kill and name those that do not answer."""
        children = list(self._children.values())
        answers = await asyncio.gather(*(self._answers(child) for child in children))
        silent = [child for child, answered in zip(children, answers, strict=True) if not answered]
        for child in silent:
            say(f"propdesk: {child.name} does not answer for {self._bounds.silent_s:.0f} s and is started again")
            child.kill()
        return tuple(child.name for child in silent)

    async def _answers(self, child: Child) -> bool:
        """Whether a service answers in time, or is being started anyway."""
        until = time.monotonic() + self._bounds.silent_s
        while time.monotonic() < until:
            if not child.is_ready.is_set() or await child.answers():
                return True
            await asyncio.sleep(self._bounds.probe_every_s)
        return False

    def stuck(self, owed: Iterable[str]) -> RunFailed:
        """What to raise when nothing moves although every service answers."""
        if (full := self.disk.failure()) is not None:
            return full
        waiting = ", ".join(owed) or "nothing"
        lines = tuple(f"{name}: {line}" for name, child in self._children.items() for line in last_lines(child.spec.log)[-1:])
        return RunFailed(f"nothing happened for {self._bounds.stuck_s:.0f} s; still owed: {waiting}", lines)

    def retire(self, name: str) -> None:
        """End a service for good while the others go on; nothing happens if it does not run."""
        child, keeping = self._children.pop(name, None), self._keeping.pop(name, None)
        if child is not None and keeping is not None:
            keeping.cancel()
            self._retired[name] = child
            child.kill()

    async def stop_services(self) -> None:
        """End all services: SIGTERM, then SIGKILL; they are not started again."""
        await self._stop([*self._children])

    async def stop(self) -> None:
        """End the services, then nats-server; returns when no child is left."""
        for task in tuple(self._beside):
            task.cancel()
        await asyncio.gather(self.stop_services(), *([self._ending] if self._ending else []))
        await end([child.process for child in self._retired.values() if child.process is not None], self._bounds.grace_s)
        await self._stop([NAME])
        if self._failure.done():
            self._failure.exception()

    async def _stop(self, names: list[str]) -> None:
        """Stop keeping some processes and end them."""
        tasks = [task for name in names if (task := self._keeping.pop(name, None))]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        everyone = {**self._children, **({NAME: self.server_child} if self.server_child else {})}
        children = [everyone[name] for name in names if name in everyone]
        await end([child.process for child in children if child.process is not None], self._bounds.grace_s)
