"""The services of the embedded stack: how each is started, and how one sees that it is ready."""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from services.desk.children import Endings, Ready
from services.desk.errors import DeskError, LogLost, NotReconciled, RunFailed, UsageError
from services.desk.layout import Layout
from services.desk.process import Spec
from shared.bus.nats_config import LOOPBACK
from shared.bus.ports import BusError, Rpc
from shared.bus.service import LOG_BROKEN_EXIT

SIMULATOR: Final = "simulator"
EXECUTOR: Final = "executor"
AGENT: Final = "agent"
ON_THE_LOG: Final = (EXECUTOR, "gate", AGENT, "journal")
"""The services that fold the log, the one that takes longest to start first."""

WRONG_CONFIGURATION: Final = 2
RECONCILIATION_FAILED: Final = 3
DESK_NAME: Final = "desk"
PROBE_CLIENT: Final = "desk-probe"
NOTHING: Final = b"{}"
FACE: Final = "PROPDESK_BROKER_FACE"
LINES, TWS = "lines", "tws"
TWS_PORT: Final = "tws_port"
ANY_PORT: Final = "0"


class Health(msgspec.Struct, frozen=True):
    """The answer of `rpc.<service>.health`."""

    service: str
    pid: int
    ready: bool
    instance: str = ""
    seq: int = 0


_HEALTH: Final = msgspec.json.Decoder(Health)


def simulator_spec(
    layout: Layout, data: Path, base_currency: str, lock: int, log_level: str, scenario: Path | None = None
) -> Spec:
    """The broker's stand-in; it inherits the lock, so that nobody starts a second one on its memory."""
    env = {
        **_env(layout, None, log_level),
        "PROPDESK_SIMULATOR_DIR": str(layout.broker.resolve()),
        "PROPDESK_SIMULATOR_DATA": str(data.resolve()),
        "PROPDESK_SIMULATOR_BASE_CURRENCY": base_currency,
        "PROPDESK_SIMULATOR_PARENT_PID": _own_pid(),
        "PROPDESK_SIMULATOR_LOG_LEVEL": log_level,
    }
    if _trades_over_tws():
        env["PROPDESK_SIMULATOR_TWS_PORT"] = ANY_PORT
    if scenario is not None:
        env["PROPDESK_SIMULATOR_SCENARIO"] = str(scenario.resolve())
    return Spec(SIMULATOR, _argv(SIMULATOR), layout.log_of(SIMULATOR), env, (lock,))


def service_spec(name: str, layout: Layout, url: str, log_level: str, keys: Mapping[str, str] | None = None) -> Spec:
    """A service that folds the log; `keys` tells it where its keys are."""
    env = {**_env(layout, url, log_level), "PROPDESK_STATE_DIR": str(layout.folder_of(name).resolve()), **(keys or {})}
    if name == EXECUTOR:
        env["PROPDESK_SIMULATOR_PORT_FILE"] = str(layout.broker_port.resolve())
        if _trades_over_tws():
            env["PROPDESK_GATEWAY_PORT_FILE"] = str(layout.broker_port.with_name(TWS_PORT).resolve())
    return Spec(name, _argv(name), layout.log_of(name), env)


def _trades_over_tws() -> bool:
    """Whether the executor talks TWS to the simulator instead of JSON lines; raises `UsageError` for an unknown face."""
    face = os.environ.get(FACE, LINES)
    if face not in {LINES, TWS}:
        raise UsageError(f"{FACE} is {face!r}: it is {LINES} (the default) or {TWS}")
    return face == TWS


def endings_of(name: str) -> Endings:
    """Exit codes of a service that end the run, because starting it again would not help."""

    def refused(lines: tuple[str, ...]) -> DeskError:
        return RunFailed(f"the {name} refuses to start: {lines[-1] if lines else 'it gave no reason'}", lines[:-1])

    common: Endings = {WRONG_CONFIGURATION: refused, LOG_BROKEN_EXIT: _log_broken}
    return {**common, RECONCILIATION_FAILED: _log_lost} if name == EXECUTOR else common


def _log_broken(lines: tuple[str, ...]) -> DeskError:
    """A service found that the log is not what was seen of it, and said which sequences."""
    return LogLost(lines[-1] if lines else "a service found that the log is not what was seen of it, and gave no reason")


def _log_lost(lines: tuple[str, ...]) -> DeskError:
    """The executor found the broker ahead of the log; its last words say so where the log itself cannot be read."""
    return NotReconciled("the executor found that ledger and broker differ: " + (lines[-1] if lines else "it gave no reason"))


def health_of(name: str, rpc: Callable[[], Rpc | None], timeout_s: float) -> Ready:
    """Whether the service's own process answers and has folded the log to its end."""

    async def ready(pid: int) -> bool:
        connection = rpc()
        if connection is None:
            return False
        try:
            health = _HEALTH.decode(await connection.request(f"rpc.{name}.health", NOTHING, timeout_s))
        except (BusError, msgspec.DecodeError):
            return False
        return health.ready and health.pid == pid

    return ready


def simulator_answers(layout: Layout, timeout_s: float) -> Ready:
    """Whether the simulator answers on its control port. A stopped process still accepts connections, so it is asked."""

    async def ready(_pid: int) -> bool:
        try:
            async with asyncio.timeout(timeout_s):
                return await _hello(int(layout.broker_port.read_text("ascii")))
        except (OSError, ValueError, EOFError):
            return False

    return ready


async def _hello(port: int) -> bool:
    """Say hello as a client of our own and see whether it is answered."""
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    try:
        writer.write(json.dumps({"id": 1, "op": "hello", "client": PROBE_CLIENT}).encode() + b"\n")
        await writer.drain()
        answer = json.loads(await reader.readline())
        return isinstance(answer, dict) and bool(answer.get("ok"))
    finally:
        writer.close()


def _env(layout: Layout, url: str | None, log_level: str) -> dict[str, str]:
    """What every child is told."""
    env = {
        "PROPDESK_DESK": DESK_NAME,
        "PROPDESK_DIR": str(layout.root.resolve()),
        "PROPDESK_LOG_LEVEL": log_level,
        "PROPDESK_PARENT_PID": _own_pid(),
    }
    return env if url is None else {**env, "PROPDESK_NATS_URL": url}


def _own_pid() -> str:
    """The supervisor's pid, which the child compares with its parent."""
    return str(os.getpid())


def _argv(service: str) -> tuple[str, ...]:
    """`-P`: a folder named `services` where the command was typed must not be taken for ours."""
    return (sys.executable, "-P", "-m", f"services.{service}")
