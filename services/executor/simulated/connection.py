"""One connection to the simulator: requests go out as they come, answers find their request by its number."""

import asyncio
import itertools
from typing import Final

from services.executor.broker import BrokerLost, BrokerRefused, BrokerUnreadable
from services.executor.simulated.wire import MAX_ANSWER_BYTES, Head, Welcome, request_line
from shared.bus.borders import ARMED, border
from shared.protocol.envelope import EnvelopeError, decode

CLIENT: Final = "executor"
HOST: Final = "127.0.0.1"
PROTOCOL: Final = 1
MAX_PENDING: Final = 256
HELLO_TIMEOUT_S: Final = 30.0
"""How long a new connection may be held while the simulator reads the one before; then another one is tried."""


class Connection:
    """An open connection that has been greeted. It ends once and is never revived."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Use `open_connection`."""
        self._reader, self._writer = reader, writer
        self._numbers = itertools.count(1)
        self._pending: dict[int, asyncio.Future[bytes]] = {}
        self._ended: str | None = None
        self.clock: str | None = None
        self.currency = ""
        self._reading = asyncio.create_task(self._read())

    @property
    def is_open(self) -> bool:
        """Whether it can still be used."""
        return self._ended is None

    async def ask(self, op: str, **fields: object) -> bytes:
        """Send a request and return its answer's line; raises `BrokerLost`, `BrokerRefused`."""
        if self._ended is not None:
            raise BrokerLost(self._ended)
        if len(self._pending) >= MAX_PENDING:
            raise BrokerRefused("busy", f"{MAX_PENDING} requests to the simulator are under way already")
        number = next(self._numbers)
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._pending[number] = answer
        try:
            return await self._exchange(op, request_line(number, op, fields), answer)
        finally:
            self._pending.pop(number, None)

    async def _exchange(self, op: str, line: bytes, answer: asyncio.Future[bytes]) -> bytes:
        """Write a request and wait for its answer."""
        if ARMED:
            await border(CLIENT, f"broker.before-send.{op}")
        self._writer.write(line)
        if ARMED:
            await border(CLIENT, f"broker.after-send.{op}")
        received = await answer
        if ARMED:
            await border(CLIENT, f"broker.after-answer.{op}")
        return received

    async def greet(self) -> None:
        """Say who we are, and wait for our turn under this name."""
        try:
            async with asyncio.timeout(HELLO_TIMEOUT_S):
                welcome = decode(Welcome, await self.ask("hello", client=CLIENT))
        except TimeoutError as error:
            raise BrokerLost(f"the simulator did not greet within {HELLO_TIMEOUT_S:g} s") from error
        except EnvelopeError as error:
            raise BrokerLost(f"the simulator's greeting cannot be read: {error}") from error
        if welcome.protocol != PROTOCOL:
            raise BrokerUnreadable(f"the simulator speaks protocol {welcome.protocol}, the executor {PROTOCOL}")
        self.currency = welcome.currency

    async def close(self) -> None:
        """Close the socket and wait until that is done; pending requests end as lost."""
        self._end("the connection to the simulator was closed")
        self._reading.cancel()
        self._writer.close()
        await asyncio.gather(self._reading, self._writer.wait_closed(), return_exceptions=True)

    async def _read(self) -> None:
        """Hand every line to its request until the connection ends."""
        try:
            while line := await self._reader.readline():
                self._take(line)
            self._end("the simulator closed the connection")
        except (OSError, ValueError, EnvelopeError) as error:
            self._end(f"the connection to the simulator broke: {error}")

    def _take(self, line: bytes) -> None:
        """One answer; raises `EnvelopeError` for a line that is none."""
        head = decode(Head, line)
        answer = self._pending.get(head.id) if head.id is not None else None
        if head.ok and head.clock is not None and (self.clock is None or head.clock > self.clock):
            self.clock = head.clock
        if answer is None or answer.done():
            return
        if head.ok:
            answer.set_result(line)
        else:
            fault = head.error
            answer.set_exception(
                BrokerRefused(fault.code, fault.message) if fault else BrokerRefused("unknown", "no reason given")
            )

    def _end(self, why: str) -> None:
        """Nothing more comes: what is not answered is unknown."""
        self._ended = self._ended or why
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(BrokerLost(self._ended))


async def open_connection(port: int) -> Connection:
    """Connect and greet; raises `BrokerLost`, `BrokerRefused`."""
    try:
        reader, writer = await asyncio.open_connection(HOST, port, limit=MAX_ANSWER_BYTES)
    except OSError as error:
        raise BrokerLost(f"no simulator at port {port}: {error}") from error
    connection = Connection(reader, writer)
    try:
        await connection.greet()
    except BaseException:
        await connection.close()
        raise
    return connection
