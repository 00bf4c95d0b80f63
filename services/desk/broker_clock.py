"""Keeps the simulator's clock at desk time: sends `advance` until it is answered, at every step, start and reconnect."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Final, Never

from services.desk.console import say
from services.desk.errors import DeskError
from shared.bus.nats_config import LOOPBACK
from shared.protocol.events import ClockAdvanced

CLIENT: Final = "desk"
FIRST_PAUSE_S: Final = 0.02
MAX_PAUSE_S: Final = 1.0
ANSWER_S: Final = 60.0
CONNECT_S: Final = 5.0
MAX_LINE_BYTES: Final = 1_000_000
_FLEETING: Final = (OSError, EOFError, ValueError, TimeoutError)


class BrokerClock:
    """A client of the simulator's control port; `answered` is the newest desk time that the simulator has confirmed.

    `on_answer` is called whenever `answered` changed.
    """

    def __init__(self, port_file: Path, on_answer: Callable[[], None]) -> None:
        """Nothing is connected before `run`."""
        self.answered: str | None = None
        self._port_file, self._on_answer = port_file, on_answer
        self._target: ClockAdvanced | None = None
        self._moved = asyncio.Event()
        self._request = 0

    def move_to(self, clock: ClockAdvanced) -> None:
        """Desk time is now this; `run` tells the simulator."""
        if self._target is None or clock.to > self._target.to:
            self._target = clock
            self._moved.set()

    async def run(self) -> Never:
        """Connect, tell the time, and connect again whenever the connection ends. Raises `DeskError` if the simulator refuses."""
        pause = FIRST_PAUSE_S
        while True:
            await self._moved.wait()
            before = self.answered
            try:
                await self._serve()
            except _FLEETING:
                pause = FIRST_PAUSE_S if self.answered != before else min(pause * 2, MAX_PAUSE_S)
            self._moved.set()
            await asyncio.sleep(pause)

    async def _serve(self) -> None:
        """One connection: tell the newest time at once and after each step, until the connection ends."""
        port = int(self._port_file.read_text("ascii"))
        async with asyncio.timeout(CONNECT_S):
            reader, writer = await asyncio.open_connection(LOOPBACK, port, limit=MAX_LINE_BYTES)
        lines = _Lines(reader, writer)
        try:
            await self._ask(lines, {"op": "hello", "client": CLIENT})
            while True:
                await lines.until(self._moved)
                self._moved.clear()
                await self._advance(lines)
        finally:
            writer.close()

    async def _advance(self, lines: "_Lines") -> None:
        """Tell the newest desk time and note that it was heard."""
        target = self._target
        if target is None:
            return
        await self._ask(lines, {"op": "advance", "to": target.to, "step": target.step, "session": target.session})
        if self.answered != target.to:
            self.answered = target.to
            self._on_answer()

    async def _ask(self, lines: "_Lines", request: dict[str, object]) -> None:
        """One request and its answer; a refusal is final, because repeating it would not help."""
        self._request += 1
        answer = await lines.ask({"id": self._request, **request})
        if answer.get("ok"):
            return
        error = answer.get("error")
        code, message = (error.get("code"), error.get("message")) if isinstance(error, dict) else (None, answer)
        if code in {"bad_advance", "bad_request", "bad_json", "unknown_op"}:
            raise DeskError(f"the simulator refuses {request['op']}: {message}")
        say(f"propdesk: the simulator answers {code}: {message}; trying again")
        raise EOFError(str(code))


class _Lines:
    """JSON lines over one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self, request: dict[str, object]) -> dict[str, object]:
        """Send a request and wait for its answer; raises what ends the connection."""
        self._writer.write(json.dumps(request).encode() + b"\n")
        async with asyncio.timeout(ANSWER_S):
            await self._writer.drain()
            line = await self._reader.readline()
        answer = json.loads(line) if line else None
        if not isinstance(answer, dict) or answer.get("id") != request["id"]:
            raise EOFError("the connection ended")
        return answer

    async def until(self, event: asyncio.Event) -> None:
        """Wait for `event`; raises `EOFError` if the connection ends first (nothing else is sent to us unasked)."""
        if event.is_set():
            return
        waits = {asyncio.ensure_future(event.wait()), asyncio.ensure_future(self._reader.read(1))}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.wait(waits)
        if not event.is_set():
            raise EOFError("the connection ended")
