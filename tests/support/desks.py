"""Runs the real command over real processes, and looks at what it leaves behind with plain clients of its own."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nats

from shared.bus.keys import KeyFolder
from tests.support.keyed import connect_keyed

PROPDESK = Path(sys.executable).with_name("propdesk")
RUN_TIMEOUT_S = 180
SERVICES = ("simulator", "executor", "gate", "agent", "journal")


@dataclass(frozen=True)
class Message:
    """One stored message."""

    seq: int
    subject: str
    payload: bytes

    @property
    def event(self) -> dict[str, Any]:
        return json.loads(self.payload)  # type: ignore[no-any-return]


def command(
    *args: str, env: dict[str, str] | None = None, timeout_s: float = RUN_TIMEOUT_S, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `propdesk` to its end."""
    return subprocess.run(
        [str(PROPDESK), *args],
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
        cwd=cwd,
    )


def run_json(folder: Path, *args: str, env: dict[str, str] | None = None, timeout_s: float = RUN_TIMEOUT_S) -> dict[str, Any]:
    """`propdesk run --json` to its end; fails the test with its stderr if it does not succeed."""
    done = command("run", "--json", "--no-serve", "--dir", str(folder), *args, env=env, timeout_s=timeout_s)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@contextlib.contextmanager
def running(folder: Path, *args: str) -> Iterator[subprocess.Popen[str]]:
    """A `propdesk run --json` that is under way; ended if the test leaves early."""
    process = subprocess.Popen(
        [str(PROPDESK), "run", "--json", "--no-serve", "--dir", str(folder), *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()


def finish(process: subprocess.Popen[str], timeout_s: float = RUN_TIMEOUT_S) -> dict[str, Any]:
    """Wait for a run's result."""
    out, err = process.communicate(timeout=timeout_s)
    assert process.returncode == 0, f"exit {process.returncode}\n{out}\n{err}"
    return json.loads(out)  # type: ignore[no-any-return]


def children_of(pid: int) -> dict[str, int]:
    """Names and pids of a supervisor's children, from /proc."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, IndexError):
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if parent != pid:
                continue
            words = (entry / "cmdline").read_bytes().decode().split("\0")
            name = next((word.removeprefix("services.") for word in words if word.startswith("services.")), None)
            if name is None and "nats-server" in words[0]:
                name = "nats-server"
            if name:
                found[name] = int(entry.name)
    return found


def wait_for(probe: Any, timeout_s: float = 60.0, every_s: float = 0.005) -> Any:
    """Poll until `probe()` gives something true; fails after the bound."""
    until = time.monotonic() + timeout_s
    while time.monotonic() < until:
        found = probe()
        if found:
            return found
        time.sleep(every_s)
    raise AssertionError(f"nothing within {timeout_s} s")


async def connected_as_desk(folder: Path, port: int, **options: Any) -> Any:
    """A plain client of a running desk's server, with the desk's own key: it may read the log and give commands."""
    return await connect_keyed(
        f"nats://127.0.0.1:{port}",
        KeyFolder(folder / "keys").read("desk"),
        max_reconnect_attempts=-1,
        inbox_prefix=b"_INBOX_desk",
        **options,
    )


class Watcher:
    """A plain client beside a running desk, with the desk's own key, for tests that act at a chosen event."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loop = asyncio.new_event_loop()
        self._client: Any = None

    def __enter__(self) -> "Watcher":
        ports = wait_for(self._ports)
        connecting = connected_as_desk(self._folder, ports["nats"], reconnect_time_wait=0.05, error_cb=_ignored)
        self._client = self._loop.run_until_complete(connecting)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError, nats.errors.Error):
            self._loop.run_until_complete(self._client.close())
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    def _ports(self) -> Any:
        with contextlib.suppress(OSError, ValueError):
            return json.loads((self._folder / "js" / "ports.json").read_text())
        return None

    def _call(self, api: str, body: dict[str, Any]) -> dict[str, Any]:
        try:
            answer = self._loop.run_until_complete(self._client.request(f"LOG.API.{api}", json.dumps(body).encode(), timeout=1))
        except nats.errors.Error:
            return {}
        return json.loads(answer.data)  # type: ignore[no-any-return]

    def last(self, subject: str = "ev.>") -> Message | None:
        """The newest stored message under a filter."""
        return _message(self._call("STREAM.MSG.GET.EV", {"last_by_subj": subject}))

    def is_ready(self, service: str, pid: int) -> bool:
        """Whether the service answers, as this very process, that it has folded the log."""
        with contextlib.suppress(nats.errors.Error, OSError):
            answer = self._loop.run_until_complete(self._client.request(f"rpc.{service}.health", b"{}", timeout=0.5))
            health = json.loads(answer.data)
            return bool(health.get("ready")) and health.get("pid") == pid
        return False

    def ask(self, subject: str, body: dict[str, Any]) -> dict[str, Any]:
        """One request to a service."""
        answer = self._loop.run_until_complete(self._client.request(subject, json.dumps(body).encode(), timeout=30))
        return json.loads(answer.data)  # type: ignore[no-any-return]

    def wait_for_type(self, kind: str, session_after: str = "") -> Message:
        """Wait until the newest event of a type stands in the log, from a session later than the one given."""

        def probe() -> Message | None:
            found = self.last(f"ev.*.*.{kind}")
            return found if found and found.event["at"][:10] > session_after else None

        return wait_for(probe)  # type: ignore[no-any-return]


async def _ignored(_: Exception) -> None:
    """Servers die in these tests."""


def _message(answer: dict[str, Any]) -> Message | None:
    import base64

    if "message" not in answer:
        return None
    row = answer["message"]
    return Message(row["seq"], row["subject"], base64.b64decode(row.get("data", "")))


def read_log(folder: Path, *, holes: bool = False) -> list[Message]:
    """Every stored message of a desk that is not running; with `holes` what is left."""
    with administrator(folder) as url:
        return asyncio.run(_read_all(url, holes))


@contextlib.contextmanager
def administrator(folder: Path, *, lazy: bool = False) -> Iterator[str]:
    """A nats-server of our own on the files of a desk that is not running, where everybody may do everything; its address.

    With `lazy` it flushes when it likes, and all at its end.
    """
    config = folder / "reader.conf"
    store = f'jetstream {{ store_dir: "{folder / "js"}"{"" if lazy else ", sync_interval: always"} }}'
    account = "accounts { LOG { jetstream: enabled, users: [{ user: admin, password: admin }] } }\nno_auth_user: admin"
    config.write_text(f'listen: "127.0.0.1:-1"\nports_file_dir: "{folder}"\n{store}\n{account}\n')
    server = subprocess.Popen([str(Path(sys.executable).with_name("nats-server")), "-c", str(config)], stderr=subprocess.DEVNULL)
    try:
        ports_file = folder / f"nats-server_{server.pid}.ports"
        yield wait_for(lambda: ports_file.exists() and ports_file.read_text() and json.loads(ports_file.read_text())["nats"][0])
    finally:
        server.terminate()
        server.wait(20)


def inject(folder: Path, subject: str, payload: bytes) -> int:
    """Place a message into the log of a desk that is not running, as only an administrator can; its sequence."""

    async def publish(url: str) -> int:
        client = await nats.connect(url)
        try:
            return (await client.jetstream().publish(subject, payload)).seq
        finally:
            await client.close()

    with administrator(folder) as url:
        return asyncio.run(publish(url))


async def _read_all(url: str, holes: bool) -> list[Message]:
    client = await nats.connect(url)
    stream = client.jetstream()
    info = await stream.stream_info("EV")
    messages = []
    for seq in range(info.state.first_seq, info.state.last_seq + 1):
        try:
            message = await stream.get_msg("EV", seq)
        except nats.js.errors.NotFoundError:
            if not holes:
                raise
            continue
        messages.append(Message(seq, message.subject or "", message.data or b""))
    await client.close()
    return messages


def facts(messages: list[Message]) -> set[tuple[str, str, str]]:
    """(id, at, data) of every event but keys and the hashes about a sequence: equal in every run of the same arguments."""
    events = [message.event for message in messages if not message.subject.endswith(".KeysAdopted")]
    return {
        (event["id"], event["at"], json.dumps(event["data"], sort_keys=True))
        for event in events
        if event["data"].get("seq") is None
    }


def stop(pid: int) -> None:
    """Freeze a process and wait until it stands still."""
    os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]) == "T", 5)
