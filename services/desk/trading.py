"""The course of a run over the real processes: connect, compare, start, trade, stop, report."""

import asyncio
import time
from contextlib import suppress
from typing import Final, Never

import msgspec
from msgspec.structs import replace

from services.agent.sources import SourceError, keep_source
from services.desk import stack
from services.desk.arguments import difference
from services.desk.broker_clock import BrokerClock
from services.desk.commands import SUBJECT, Commands
from services.desk.completeness import check_log
from services.desk.console import say
from services.desk.desk_keys import DeskKeys
from services.desk.deskbook import DeskBook, not_reconciled
from services.desk.errors import DeskError, LogLost, NotReconciled, RunFailed, UsageError
from services.desk.failures import check_runs, halt_lines
from services.desk.policy_file import advice, compared, remember
from services.desk.report import report_of
from services.desk.rotation import Rotation
from services.desk.run import Job
from services.desk.steps import AUTHOR, is_finished
from services.desk.stopped import forget
from services.desk.supervisor import Supervisor
from services.desk.tally import DeskState, apply
from shared.bus.jetstream import Connection, check_server, connect, ensure_stream
from shared.bus.keyring import KeyReplaced
from shared.bus.keys import PROVISIONER, KeyFileError
from shared.bus.participant import Participant, instance_name
from shared.bus.ports import BusError, LogBroken, NoResponder, Refused, Rpc, Unavailable
from shared.bus.watch import LogWatch
from shared.protocol.events import RunArgs

JOURNAL_TIMEOUT_S: Final = 2.0


async def trade(job: Job, supervisor: Supervisor, keys: DeskKeys) -> None:
    """Trade to the end and show the result; nats-server is kept running until it is shown. Raises `DeskError`."""
    await supervisor.start_server()
    is_first = True
    while not await _went_through(_Course(job, supervisor, keys, is_first=is_first), supervisor):
        await supervisor.disk.until_free()
        is_first = False


async def _went_through(course: "_Course", supervisor: Supervisor) -> bool:
    """Trade; False if a full disk was in the way, after which it can go on. Raises `DeskError`."""
    try:
        await supervisor.first_of(course.run())
    except NotReconciled as error:
        raise await course.explained(error) from error
    except KeyReplaced as error:
        raise UsageError(f"{error}: bring back the right key file, or `propdesk keys rotate {AUTHOR}`") from error
    except (Refused, KeyFileError) as error:
        raise UsageError(str(error)) from error
    except LogBroken as error:
        raise LogLost(str(error)) from error
    except BusError as error:
        if supervisor.disk.explains():
            return False
        raise RunFailed(f"{type(error).__name__}: {error}") from error
    finally:
        await course.close()
    return True


class _Status(msgspec.Struct):
    """The answer of `rpc.journal.status`, as far as it matters here."""

    seq: int


_STATUS: Final = msgspec.json.Decoder(_Status)


class _Course:
    """One run and what it has opened. Only the first one of a command compares the log with it and starts the services."""

    def __init__(self, job: Job, supervisor: Supervisor, keys: DeskKeys, *, is_first: bool) -> None:
        self._job, self._supervisor, self._keys, self._is_first = job, supervisor, keys, is_first
        self._telling: asyncio.Task[Never] | None = None
        self._cursor = -1
        self._connection: Connection | None = None
        self._participant: Participant[DeskState] | None = None
        self._watch: LogWatch | None = None
        self._rotation: Rotation | None = None

    async def run(self) -> None:
        """From the first connection to the shown result; raises `DeskError` and `BusError`."""
        participant = await self._join()
        if self._is_first:
            self._compare(participant.state)
            self._keys.check(participant.state.ledger)
            forget(self._job.layout)
            self._start_services()
        clock = BrokerClock(self._job.layout.broker_port, participant.wake)
        self._telling = self._supervisor.watch(clock.run())
        commands = Commands(participant, self._rotation)
        await participant.rpc.serve(SUBJECT, commands.handle)
        plan = replace(self._job.prepared.plan, keys=self._keys.adopted())
        book = DeskBook(participant, plan, clock, commands, self._job.bounds)
        try:
            await book.run(self._journal_seq, self._show, self._supervisor.kill_silent, self._supervisor.stuck)
        finally:
            commands.close()
        await self._supervisor.stop_services()
        await participant.catch_up()
        self._finish(participant)

    def _show(self, state: DeskState) -> None:
        """The log was folded up to here."""
        step = state.ledger.step
        if step is not None and self._job.prepared.plan.scenario.are_agents_dead(step.clock.session):
            self._supervisor.retire(stack.AGENT)
        if state.ledger.seq != self._cursor:
            self._cursor = state.ledger.seq
            self._supervisor.disk.moved()
        self._job.display.show(state)

    async def _join(self) -> Participant[DeskState]:
        """Connect, make sure of server and stream, and fold the log to its end."""
        server = self._supervisor.server
        self._connection = connection = await connect(server.url, AUTHOR, user=self._keys.user(AUTHOR))
        await check_log(self._job.layout, connection.log)
        provisioner = await connect(server.url, PROVISIONER, user=self._keys.user(PROVISIONER))
        try:
            await check_server(provisioner, server.monitor_url)
            await ensure_stream(provisioner)
        finally:
            await provisioner.close()
        signer = self._keys.signer()
        self._rotation = Rotation(self._keys, signer, self._supervisor.reload_server)
        self._participant = participant = Participant(
            connection.log,
            connection.rpc,
            author=AUTHOR,
            instance=instance_name(),
            desk=stack.DESK_NAME,
            state=DeskState(),
            apply=apply,
            keyring=self._keys.identity().keyring(),
            signer=signer,
        )
        folder = self._job.layout.folder_of(AUTHOR)
        self._watch = watch = LogWatch(connection, participant, folder, f"the {AUTHOR}")
        await watch.begin()
        await participant.start()
        self._supervisor.watch(watch.run())
        await self._rotation.settle(participant.state.ledger)
        return participant

    def _compare(self, state: DeskState) -> None:
        """Refuse to go on with a log that is another run's, or whose run is over; keep what the sources need."""
        prepared, root = self._job.prepared, self._job.layout.root
        first = state.tally.first_clock
        if first is not None and first.args is not None:
            self._compare_args(state, first.args)
        if prepared.policy_file is not None:
            remember(self._job.layout, prepared.policy_file)
        for spec in prepared.sources:
            try:
                keep_source(spec.kind, spec.argument, root)
            except SourceError as error:
                raise UsageError(str(error)) from error

    def _compare_args(self, state: DeskState, found: RunArgs) -> None:
        """Refuse another run, and this one when it is over; one that goes on does so under the policy in force."""
        prepared, root = self._job.prepared, self._job.layout.root
        wanted, adopted = prepared.plan.args, state.ledger.policy
        is_over = is_finished(state.ledger, found)
        other = difference(wanted, found, with_policy=is_over or adopted is None)
        if other is not None:
            raise UsageError(f"{root} holds another run (different: {other}): add --fresh to put it aside, or use --dir")
        if is_over:
            raise UsageError(f"{root} holds this run, and it is over: add --fresh to run it again, or see `propdesk status`")
        if adopted is not None and prepared.policy_file is not None:
            told = advice(compared(prepared.policy_file, adopted))
            if told is not None:
                say(f"propdesk: {told}")

    def _start_services(self) -> None:
        """Start all children; nothing waits for them to be ready."""
        layout, level, bounds = self._job.layout, self._job.log_level, self._job.bounds
        prepared = self._job.prepared
        currency = prepared.plan.policy.policy.base_currency
        lock = self._supervisor.lock.descriptor
        spec = stack.simulator_spec(layout, prepared.prices.path, currency, lock, level, prepared.scenario_file)
        answers = stack.simulator_answers(layout, bounds.probe_timeout_s)
        self._supervisor.start(spec, answers, stack.endings_of(stack.SIMULATOR))
        for name in stack.ON_THE_LOG:
            spec = stack.service_spec(name, layout, self._supervisor.server.url, level, self._keys.environment(name))
            healthy = stack.health_of(name, self._rpc, bounds.probe_timeout_s)
            self._supervisor.start(spec, healthy, stack.endings_of(name))

    def _rpc(self) -> Rpc | None:
        return self._connection.rpc if self._connection else None

    async def _journal_seq(self) -> int | None:
        """What the journal has written; None while it does not answer."""
        if self._connection is None:
            return None
        try:
            answer = await self._connection.rpc.request("rpc.journal.status", stack.NOTHING, JOURNAL_TIMEOUT_S)
            return _STATUS.decode(answer).seq
        except (NoResponder, Unavailable, msgspec.DecodeError):
            return None

    def _finish(self, participant: Participant[DeskState]) -> None:
        """Show the result of the folded log."""
        state = participant.state
        if state.ledger.problem is not None:
            raise not_reconciled(state)
        report = report_of(state, participant.cursor, time.monotonic() - self._job.began)
        self._job.display.result(report, state)
        for line in halt_lines(state.ledger):
            say(f"propdesk: {line}")
        if state.ledger.account.failed:
            raise not_reconciled(state)
        check_runs(state.tally)

    async def explained(self, error: NotReconciled) -> DeskError:
        """The executor's own words in the log, if it came to write them; else `error`."""
        if self._participant is None:
            return error
        try:
            await self._participant.catch_up()
        except BusError:
            return error
        return not_reconciled(self._participant.state) if self._participant.state.tally.failure else error

    async def close(self) -> None:
        """Close what was opened; what does not close within the grace is left to the end of the process."""
        if self._telling is not None:
            self._telling.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._job.bounds.grace_s):
                if self._participant is not None:
                    await self._participant.close()
                if self._watch is not None:
                    await self._watch.close()
                if self._connection is not None:
                    await self._connection.close()
