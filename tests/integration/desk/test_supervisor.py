"""The supervisor over a real nats-server and small processes that misbehave."""

import asyncio
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from services.desk.errors import Interrupted, LogLost, NotReconciled, RunFailed
from services.desk.layout import Layout
from services.desk.lock import Lock, is_held
from services.desk.server import url_of
from services.desk.settings import Bounds
from services.desk.stack import endings_of
from services.desk.supervisor import Supervisor
from shared.bus.jetstream import check_server, connect, ensure_stream
from tests.integration.desk.children import QUICK, never, script, starts
from tests.support.desks import stop

BOUND_S = 20.0


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    found = Layout(tmp_path / "desk")
    found.make()
    return found


@pytest.fixture
async def supervisor(layout: Layout) -> AsyncIterator[Supervisor]:
    lock = Lock.take(layout, 0)
    found = Supervisor(layout, lock, QUICK)
    yield found
    await found.stop()
    lock.release()


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(BOUND_S):
        while not condition():  # noqa: ASYNC110 - other processes are waited for
            await asyncio.sleep(0.005)


async def forever() -> None:
    await asyncio.Event().wait()


def is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def test_the_pause_before_a_restart_doubles_from_a_fifth_of_a_second_to_five_seconds() -> None:
    pauses = [Bounds().backoff(deaths) for deaths in range(1, 11)]
    assert pauses == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 5, 5, 5, 5, 5])
    assert Bounds().backoff(1_000_000) == 5


async def test_ten_deaths_in_a_row_without_being_ready_end_the_run_with_the_last_words(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    supervisor.start(script(tmp_path, "gate", "print('I cannot'); sys.exit(7)"), never, {})
    with pytest.raises(RunFailed, match=r"gate died 10 times in a row .*exit code 7") as failed:
        await supervisor.first_of(forever())
    assert failed.value.exit_code == 1
    assert failed.value.details[-1] == "I cannot"
    assert len(starts(tmp_path, "gate")) == 10


async def test_deaths_are_counted_anew_once_a_service_was_ready(supervisor: Supervisor, tmp_path: Path) -> None:
    spec = script(tmp_path, "gate", "READY.write_text(str(os.getpid())); time.sleep(0.1); sys.exit(1)")
    ready = tmp_path / "gate.ready"

    async def probe(pid: int) -> bool:
        return ready.exists() and ready.read_text() == str(pid)

    child = supervisor.start(spec, probe, {})
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(4):
            await supervisor.first_of(forever())
    assert len(starts(tmp_path, "gate")) > 10
    assert child.deaths < 10


async def test_a_service_that_ignores_sigterm_is_killed_after_the_grace(supervisor: Supervisor, tmp_path: Path) -> None:
    spec = script(tmp_path, "gate", "signal.signal(signal.SIGTERM, signal.SIG_IGN); READY.touch(); time.sleep(60)")
    child = supervisor.start(spec, never, {})
    await until((tmp_path / "gate.ready").exists)
    assert child.process is not None
    await supervisor.stop_services()
    assert child.process.returncode == -signal.SIGKILL


async def test_a_stopped_service_is_ended_too(supervisor: Supervisor, tmp_path: Path) -> None:
    child = supervisor.start(script(tmp_path, "gate", "READY.touch(); time.sleep(60)"), never, {})
    await until((tmp_path / "gate.ready").exists)
    assert child.process is not None
    stop(child.process.pid)
    await supervisor.stop_services()
    assert child.process.returncode == -signal.SIGKILL


async def test_a_service_that_ends_on_sigterm_is_not_started_again(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.start(script(tmp_path, "gate", "READY.touch(); time.sleep(60)"), never, {})
    await until((tmp_path / "gate.ready").exists)
    await supervisor.stop_services()
    await asyncio.sleep(5 * QUICK.backoff_s)
    assert len(starts(tmp_path, "gate")) == 1


async def test_a_living_service_that_never_becomes_ready_is_started_again(layout: Layout, tmp_path: Path) -> None:
    lock = Lock.take(layout, 0)
    found = Supervisor(layout, lock, replace(QUICK, ready_s=0.1))
    found.start(script(tmp_path, "gate", "time.sleep(60)"), never, {})
    await until(lambda: len(starts(tmp_path, "gate")) > 1)
    await found.stop()
    lock.release()


async def test_a_ready_service_that_falls_silent_is_killed_and_started_again(supervisor: Supervisor, tmp_path: Path) -> None:
    silent = False

    async def probe(_pid: int) -> bool:
        return not silent

    child = supervisor.start(script(tmp_path, "gate", "READY.touch(); time.sleep(60)"), probe, {})
    await until(lambda: child.is_ready.is_set() and starts(tmp_path, "gate"))
    assert await supervisor.kill_silent() == ()
    silent = True
    assert await supervisor.kill_silent() == ("gate",)
    silent = False
    await until(lambda: len(starts(tmp_path, "gate")) == 2)


async def test_an_executor_that_ends_with_three_ends_the_run_with_three_and_its_words(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    spec = script(tmp_path, "executor", "print('desk time is 1, the simulator says 2'); sys.exit(3)")
    supervisor.start(spec, never, endings_of("executor"))
    with pytest.raises(NotReconciled, match="desk time is 1, the simulator says 2") as failed:
        await supervisor.first_of(forever())
    assert failed.value.exit_code == 3
    assert len(starts(tmp_path, "executor")) == 1


async def test_a_service_that_finds_the_log_incomplete_ends_the_run_with_its_words_and_is_not_started_again(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    words = "gate: LogBroken: sequences 3 to 5 are lost"
    supervisor.start(script(tmp_path, "gate", f"print({words!r}); sys.exit(5)"), never, endings_of("gate"))
    async with asyncio.timeout(BOUND_S):
        with pytest.raises(LogLost, match="sequences 3 to 5 are lost") as ended:
            await supervisor.first_of(forever())
    assert ended.value.exit_code == 1
    assert len(starts(tmp_path, "gate")) == 1


async def test_services_are_ended_together_with_one_grace_from_the_moment_of_the_signal(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    """Three of them ignore SIGTERM, and the work takes its time to be cancelled: one grace, not four."""
    await supervisor.start_server()
    for name in ("gate", "agent", "journal"):
        spec = script(tmp_path, name, "signal.signal(signal.SIGTERM, signal.SIG_IGN); READY.touch(); time.sleep(60)")
        supervisor.start(spec, never, {})
        await until((tmp_path / f"{name}.ready").exists)

    async def slow() -> None:
        try:
            await forever()
        finally:
            await asyncio.sleep(0.9 * QUICK.grace_s)

    work = asyncio.ensure_future(supervisor.first_of(slow()))
    await asyncio.sleep(0)
    began = time.monotonic()
    supervisor.fail(Interrupted(signal.SIGINT))
    with pytest.raises(Interrupted):
        await work
    await supervisor.stop()
    assert QUICK.grace_s <= time.monotonic() - began < 2.5 * QUICK.grace_s


async def test_a_signal_ends_the_work_and_a_second_one_changes_nothing(supervisor: Supervisor) -> None:
    work = asyncio.ensure_future(supervisor.first_of(forever()))
    await asyncio.sleep(0)
    supervisor.fail(Interrupted(signal.SIGTERM))
    supervisor.fail(Interrupted(signal.SIGINT))
    with pytest.raises(Interrupted) as ended:
        await work
    assert ended.value.exit_code == 143


async def test_nats_server_flushes_always_and_is_started_again_on_the_same_port(supervisor: Supervisor, layout: Layout) -> None:
    await supervisor.start_server()
    url = supervisor.server.url
    assert url == url_of(layout)
    connection = await connect(url, "desk")
    await check_server(connection, supervisor.server.monitor_url)
    await ensure_stream(connection)
    await connection.close()
    child = supervisor.server_child
    assert child is not None
    assert child.process is not None
    first = child.process.pid
    child.process.kill()
    await until(lambda: child.is_ready.is_set() and child.process is not None and child.process.pid != first)
    assert supervisor.server.url == url
    again = await connect(url, "desk")
    await check_server(again, supervisor.server.monitor_url)
    await again.close()


async def test_the_port_is_kept_over_restarts_unless_somebody_else_has_it(layout: Layout) -> None:
    async def port() -> int:
        lock = Lock.take(layout, QUICK.orphans_s)
        found = Supervisor(layout, lock, QUICK)
        try:
            await found.start_server()
            return found.server.port
        finally:
            await found.stop()
            lock.release()

    first = await port()
    assert await port() == first
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", first))
        other.listen()
        second = await port()
    assert second != first
    assert await port() == second


async def test_nats_server_keeps_the_lock_when_the_desk_has_let_go_of_it(layout: Layout) -> None:
    lock = Lock.take(layout, 0)
    supervisor = Supervisor(layout, lock, QUICK)
    await supervisor.start_server()
    lock.release()
    assert is_held(layout) is not None
    await supervisor.stop()
    assert is_held(layout) is None


async def test_a_server_that_cannot_start_ends_the_run_with_its_last_words(layout: Layout) -> None:
    (layout.stream / "jetstream").write_text("a file where the server wants a folder")
    lock = Lock.take(layout, 0)
    supervisor = Supervisor(layout, lock, QUICK)
    with pytest.raises(RunFailed, match="nats-server died 10 times in a row") as failed:
        await supervisor.start_server()
    assert any("storage directory" in line for line in failed.value.details)
    await supervisor.stop()
    lock.release()


SUPERVISED = """
import asyncio, pathlib, sys
from services.desk.layout import Layout
from services.desk.lock import Lock
from services.desk.supervisor import Supervisor
from tests.integration.desk.children import QUICK, never, script

async def main(folder: pathlib.Path) -> None:
    layout = Layout(folder / "desk")
    layout.make()
    supervisor = Supervisor(layout, Lock.take(layout, 0), QUICK)
    await supervisor.start_server()
    text = "signal.signal(signal.SIGTERM, signal.SIG_IGN); READY.touch(); time.sleep(600)"
    child = supervisor.start(script(folder, "gate", text), never, {})
    while not (folder / "gate.ready").exists():
        await asyncio.sleep(0.01)
    print(supervisor.server_child.process.pid, child.process.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main(pathlib.Path(sys.argv[1])))
"""


async def test_a_supervisor_killed_with_sigkill_leaves_no_process_and_no_lock(tmp_path: Path) -> None:
    process = subprocess.Popen(  # noqa: ASYNC220 - nothing else runs in this loop
        [sys.executable, "-c", SUPERVISED, str(tmp_path)], stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]
    )
    assert process.stdout is not None
    pids = [int(pid) for pid in (await asyncio.to_thread(process.stdout.readline)).split()]
    assert len(pids) == 2
    process.kill()
    process.communicate()
    await until(lambda: all(is_gone(pid) for pid in pids))
    assert is_held(Layout(tmp_path / "desk")) is None
