"""`Broker` on the simulator: connects again without end, reads the port file each time, never repeats a request by itself."""

import asyncio
import itertools
from pathlib import Path
from typing import Final, TypeVar

import structlog

from services.executor.broker import (
    Account,
    Answer,
    Bar,
    BrokerLost,
    BrokerOrder,
    BrokerRefused,
    BrokerUnreadable,
    Complete,
    Execution,
    History,
    Incomplete,
    Observation,
)
from services.executor.simulated import wire
from services.executor.simulated.connection import Connection, open_connection
from shared.protocol.envelope import EnvelopeError, decode
from shared.protocol.instants import Instant
from shared.protocol.market import Order, Quote, split_key
from shared.protocol.money import Exact

T = TypeVar("T")

FIRST_PAUSE_S: Final = 0.02
LONGEST_PAUSE_S: Final = 1.0
TRIES_BEFORE_WARNING: Final = 5
MAX_PORT_FILE_BYTES: Final = 16


class SimulatedBroker:
    """The account in the simulator whose port stands in `port_file`."""

    def __init__(self, port_file: Path) -> None:
        """Nothing is connected before the first request."""
        self._port_file = port_file
        self._open: Connection | None = None
        self._opening = asyncio.Lock()
        self._count = 0
        self._log = structlog.get_logger()

    @property
    def connection(self) -> int:
        """Which connection is in use, counted from 1."""
        return self._count

    @property
    def known_clock(self) -> Instant | None:
        """The newest time named on the connection that is open."""
        return self._open.clock if self._open is not None and self._open.is_open else None

    async def renew(self) -> None:
        """Close the connection and open another, which is served only when the simulator has read the old one to its end."""
        await self.close()
        await self._connected()

    async def close(self) -> None:
        """Close the connection."""
        if self._open is not None:
            await self._open.close()

    async def clock(self) -> Instant | None:
        """The simulator's time."""
        return decode(wire.Head, await self._ask("clock")).clock

    async def wait(self, to: Instant) -> Instant:
        """Wait for the simulator's time, without end."""
        return decode(wire.Head, await self._ask("wait", to=to)).clock or to

    async def observe(self, keys: tuple[str, ...]) -> Complete[Observation]:
        """Quotes with at least one price, ticks of known names, rates and sessions."""
        parts = [await self._market(part) for part in _parts(keys, wire.MAX_KEYS)]
        quotes = [quote for part, _ in parts for quote in part.quotes if _has_price(quote)]
        ticks = {key: tick for part, _ in parts for key, tick in part.ticks.items()}
        last, clock = parts[-1]
        return Complete(Observation(tuple(sorted(quotes, key=lambda q: q.key)), ticks, last.fx, last.sessions), clock)

    async def history(self, symbols: tuple[str, ...], currency: str, count: int) -> Complete[History]:
        """Bars of the symbols that are traded in `currency` there; the session is that of the simulator's clock."""
        market, clock = await self._market(())
        day = next((session.day for _, session in sorted(market.sessions.items())), None)
        bars: dict[str, tuple[Bar, ...]] = {}
        known = symbols if (await self._connected()).currency == currency else ()
        for part in _parts(known, max(1, min(wire.MAX_SYMBOLS, wire.MAX_ROWS // max(count, 1)))):
            line = await self._ask("history", symbols=part, count=count)
            bars.update(_decode(wire.Bars, line).bars)
            clock = decode(wire.Head, line).clock
        return Complete(History(day, bars), clock)

    async def place(self, reference: str, order: Order, connection: int) -> None:
        """Send an order once, on that connection or not at all."""
        if self._open is None or connection != self._count:
            raise BrokerLost(f"{reference}: connection {connection} ended before the order was sent")
        fields = {"symbol": order.symbol, "currency": order.currency, "side": order.side}
        await self._open.ask("place", ref=reference, quantity=order.quantity, limit=order.limit, **fields)

    async def sync(self) -> None:
        """Everything before on this connection is dealt with."""
        await self._ask("sync")

    async def cancel(self, permanent_id: str) -> None:
        """Ask for an order's end."""
        await self._ask("cancel", perm_id=int(permanent_id))

    async def orders(self, reference: str | None = None, *, open_only: bool = False) -> Answer[tuple[BrokerOrder, ...]]:
        """Orders by permanent id."""
        answer = await self._whole(wire.Orders, "orders", ref=reference, open_only=open_only)
        return answer if isinstance(answer, Incomplete) else answer.turned(lambda found: tuple(o.value() for o in found.orders))

    async def executions(self, after: int = 0) -> Answer[tuple[Execution, ...]]:
        """Executions by number."""
        answer = await self._whole(wire.Executions, "executions", after=after)
        return (
            answer if isinstance(answer, Incomplete) else answer.turned(lambda found: tuple(e.value() for e in found.executions))
        )

    async def positions(self) -> Answer[dict[str, Exact]]:
        """Shares by instrument key."""
        answer = await self._whole(wire.Positions, "positions")
        return (
            answer
            if isinstance(answer, Incomplete)
            else answer.turned(lambda found: {p.key: p.quantity for p in found.positions})
        )

    async def account(self) -> Answer[Account]:
        """Name and cash."""
        answer = await self._whole(wire.AccountState, "account")
        return answer if isinstance(answer, Incomplete) else answer.turned(wire.AccountState.value)

    async def _market(self, keys: tuple[str, ...]) -> tuple[wire.Market, Instant | None]:
        """One `quotes` request."""
        pairs = [dict(zip(("symbol", "currency"), split_key(key), strict=True)) for key in keys]
        line = await self._ask("quotes", keys=pairs)
        return _decode(wire.Market, line), decode(wire.Head, line).clock

    async def _whole(self, kind: type[T], op: str, **fields: object) -> Answer[T]:
        """A list up to its end marker; without one it is unknown, whatever came."""
        line = await self._ask(op, **fields)
        answer, clock = _decode(kind, line), decode(wire.Head, line).clock
        return Complete(answer, clock) if getattr(answer, "end", False) is True else Incomplete(op, clock)

    async def _ask(self, op: str, **fields: object) -> bytes:
        """One request on the connection that is open, or on a new one."""
        return await (await self._connected()).ask(op, **fields)

    async def _connected(self) -> Connection:
        """The open connection; tries without end to make one."""
        async with self._opening:
            if self._open is None or not self._open.is_open:
                if self._open is not None:
                    await self._open.close()
                self._open = await self._connect()
                self._count += 1
            return self._open

    async def _connect(self) -> Connection:
        """Try until it works, with growing pauses; only the log says how often."""
        pause_s = FIRST_PAUSE_S
        for number in itertools.count(1):
            try:
                return await open_connection(self._port())
            except (BrokerLost, BrokerRefused) as error:
                if number == TRIES_BEFORE_WARNING:
                    self._log.warning("waiting for the simulator", error=str(error))
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
        raise AssertionError("unreachable")

    def _port(self) -> int:
        """The simulator's port; raises `BrokerLost` while the file is not there or not whole."""
        try:
            text = self._port_file.read_bytes()[:MAX_PORT_FILE_BYTES].decode("ascii").strip()
            port = int(text)
        except (OSError, ValueError) as error:
            raise BrokerLost(f"no port of the simulator in {self._port_file}: {error}") from error
        if not 0 < port < 65_536:
            raise BrokerLost(f"{self._port_file}: {port} is no port")
        return port


def _parts(items: tuple[str, ...], size: int) -> list[tuple[str, ...]]:
    """`items` in pieces of at most `size`; one empty piece for none."""
    return [items[start : start + size] for start in range(0, len(items), size)] or [()]


def _has_price(quote: Quote) -> bool:
    """Whether anything is known; a name that is not traded comes back without a single price."""
    return any(price is not None for price in (quote.bid, quote.ask, quote.last, quote.close))


def _decode(kind: type[T], line: bytes) -> T:
    """An answer's fields; raises `BrokerUnreadable` for a line that does not fit the protocol."""
    try:
        return decode(kind, line)
    except EnvelopeError as error:
        raise BrokerUnreadable(f"the simulator's answer cannot be read: {error}") from error
