"""The shell of a service as a real process: health, signals, exit codes, its parent's death."""

import asyncio
import json
import os
import signal
import sys
import textwrap
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

import pytest

from shared.bus.jetstream import Connection, ensure_stream
from shared.bus.ports import Append, NoResponder
from shared.protocol.envelope import Draft, seal
from shared.protocol.events import StateHashed
from tests.integration.bus.servers import NatsServer, connected, eventually, process_state

BOUND_S = 30.0
AT = "2022-10-03T14:30:00.000000Z"
SERVICE = """
    from shared.bus.service import Service, main
    from shared.bus.settings import ServiceSettings
    from shared.protocol.envelope import Draft
    from shared.protocol.events import StateHashed

    async def body(service: Service[ServiceSettings]) -> None:
        {body}

    main("gate", ServiceSettings, body, apply=lambda state, event: state)
"""
WAITING = """
        while not service.stopping:
            await service.participant.advance()
"""
LATE = f"""
        await service.participant.append(Draft("gate", "_desk", "late", "{AT}", 0, StateHashed("2022-10-03", "0")))
"""
Start = Callable[..., Awaitable[Process]]


@pytest.fixture
async def start(nats: NatsServer) -> AsyncIterator[Start]:
    """Starts services; what still runs at the end is killed."""
    made: list[Process] = []

    async def run(body: str = WAITING, environment: Mapping[str, str] | None = None) -> Process:
        code = textwrap.dedent(SERVICE.format(body=body.strip()))
        told = {"PATH": os.environ["PATH"], "PROPDESK_NATS_URL": nats.url, **(environment or {})}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, env=told, stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        made.append(process)
        return process

    yield run
    for process in made:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def health(connection: Connection) -> dict[str, object]:
    """What the service says of itself once it is ready."""
    answer: dict[str, object] = {}

    async def ready() -> bool:
        try:
            answer.update(json.loads(await connection.rpc.request("rpc.gate.health", b"", BOUND_S)))
        except NoResponder:
            return False
        return answer["ready"] is True

    await eventually(ready)
    return answer


async def ended(process: Process) -> tuple[int | None, str, str]:
    """Exit code, stdout and stderr."""
    async with asyncio.timeout(BOUND_S):
        stdout, stderr = await process.communicate()
    return process.returncode, stdout.decode(), stderr.decode()


def stored(number: int, *, n: int, prev: str | None = None) -> Append:
    """An event of another instance of the gate."""
    draft = Draft("gate", "_desk", f"s{number}", AT, 0, StateHashed("2022-10-03", "0"))
    payload = seal(draft, desk="default", instance="other", n=n, prev=prev)
    return Append(draft.subject, draft.id, payload, "ev.gate.>", number - 1)


async def test_a_service_is_ready_when_it_has_folded_the_whole_log(connection: Connection, start: Start) -> None:
    await connection.log.append(stored(1, n=1))
    process = await start()
    answer = await health(connection)
    assert answer["service"] == "gate"
    assert (answer["seq"], answer["ready"], answer["pid"]) == (1, True, process.pid)
    assert str(answer["instance"]).startswith(f"{process.pid}-")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_a_service_cleanly(connection: Connection, start: Start, number: int) -> None:
    process = await start()
    await health(connection)
    process.send_signal(number)
    code, stdout, stderr = await ended(process)
    assert (code, stdout) == (0, "")
    assert all(isinstance(json.loads(line), dict) for line in stderr.splitlines())


async def test_a_body_that_does_not_return_after_a_signal_is_cancelled(connection: Connection, start: Start) -> None:
    process = await start("await __import__('asyncio').Event().wait()")
    await health(connection)
    process.terminate()
    assert (await ended(process))[0] == 0


async def test_a_body_that_returns_ends_the_service(connection: Connection, start: Start) -> None:
    assert (await ended(await start("return")))[0] == 0


async def test_nothing_is_appended_after_a_signal(connection: Connection, start: Start) -> None:
    process = await start(WAITING + LATE)
    await health(connection)
    process.terminate()
    assert (await ended(process))[0] == 0
    assert await connection.log.last_seq() == 0


async def test_a_fenced_service_exits_with_4_naming_the_other(connection: Connection, start: Start) -> None:
    process = await start()
    await health(connection)
    await connection.log.append(stored(1, n=1))
    code, _, stderr = await ended(process)
    assert code == 4
    assert stderr.splitlines()[-1].startswith("gate: Fenced: other wrote gate:StateHashed:s1 at sequence 1")


async def test_a_broken_log_ends_the_service_with_1_naming_the_sequence(connection: Connection, start: Start) -> None:
    await connection.log.append(stored(1, n=2))
    code, _, stderr = await ended(await start())
    assert code == 1
    assert "gate: LogBroken: sequence 1" in stderr.splitlines()[-1]


async def test_to_its_supervisor_a_service_says_5_of_a_broken_log(connection: Connection, start: Start) -> None:
    await connection.log.append(stored(1, n=2))
    code, _, stderr = await ended(await start(environment={"PROPDESK_PARENT_PID": str(os.getpid())}))
    assert code == 5
    assert "gate: LogBroken: sequence 1" in stderr.splitlines()[-1]


async def test_an_absent_log_ends_the_service_with_1(start: Start) -> None:
    code, _, stderr = await ended(await start())
    assert code == 1
    assert "LogBroken: there is no stream EV" in stderr.splitlines()[-1]


async def test_a_bug_in_a_body_ends_the_service_with_1_and_a_line(connection: Connection, start: Start) -> None:
    code, _, stderr = await ended(await start("raise RuntimeError('upside down')"))
    assert code == 1
    assert stderr.splitlines()[-1] == "gate: RuntimeError: upside down"


async def test_bad_settings_end_the_service_with_2_naming_the_variable(start: Start) -> None:
    process = await start(environment={"PROPDESK_LOG_LEVEL": "loud", "PROPDESK_PARENT_PID": ""})
    code, _, stderr = await ended(process)
    assert code == 2
    assert len(stderr.splitlines()) == 1
    assert "PROPDESK_LOG_LEVEL" in stderr
    assert "PROPDESK_PARENT_PID" in stderr


async def test_a_service_whose_parent_is_gone_before_it_looks_ends_at_once(start: Start) -> None:
    code, _, stderr = await ended(await start(environment={"PROPDESK_PARENT_PID": "1"}))
    assert code == 1
    assert "the parent process 1 is gone" in stderr


async def test_a_service_dies_with_a_parent_that_is_killed(connection: Connection, nats: NatsServer) -> None:
    service = textwrap.dedent(SERVICE.format(body=WAITING.strip()))
    parent = f"""
import os, subprocess, sys, time
environment = dict(os.environ, PROPDESK_PARENT_PID=str(os.getpid()), PROPDESK_NATS_URL={nats.url!r})
subprocess.Popen([sys.executable, "-c", {service!r}], env=environment)
time.sleep(1000)
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", parent)
    pid = int(str((await health(connection))["pid"]))
    process.kill()
    await process.wait()

    async def gone() -> bool:
        return process_state(pid) in {"", "Z"}

    await eventually(gone)


@pytest.mark.long
async def test_a_service_without_a_server_for_15_s_ends_with_1(make_server: Callable[..., NatsServer], start: Start) -> None:
    server = make_server()
    client = await connected(server)
    await ensure_stream(client)
    process = await start(environment={"PROPDESK_NATS_URL": server.url})
    await health(client)
    await client.close()
    server.stop()
    code, _, stderr = await ended(process)
    assert code == 1
    assert "no answer from the NATS server for 15 s" in stderr.splitlines()[-1]
