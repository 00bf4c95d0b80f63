"""`rpc.executor.quotes` and `rpc.executor.history`: the executor is the only source of prices."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Final

import msgspec

from services.executor.broker import Bar, BrokerError, BrokerLost, BrokerRefused
from services.executor.desk import Desk, OutOfStep
from shared.bus.ports import Handler, Rpc
from shared.protocol.envelope import EnvelopeError, canonical, clean_text, decode
from shared.protocol.instants import Day, Instant
from shared.protocol.market import MAX_SYMBOL_CHARS, ExchangeSession, Quote
from shared.protocol.money import Exact

MAX_NAMES: Final = 1_000
MAX_BARS: Final = 5_000
MAX_ROWS: Final = 6_000
"""Symbols × bars of one answer, which must fit into one message of the bus (1 MB)."""
MAX_ERROR_CHARS: Final = 500
ANSWER_TIMEOUT_S: Final = 2.0

Key = Annotated[str, msgspec.Meta(pattern=r"^[^:]{1,32}:[A-Z]{3}$")]
Symbol = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_SYMBOL_CHARS)]
Currency = Annotated[str, msgspec.Meta(pattern=r"^[A-Z]{3}$")]


class QuotesRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Instrument keys to price."""

    keys: Annotated[tuple[Key, ...], msgspec.Meta(max_length=MAX_NAMES)]


class QuotesAnswer(msgspec.Struct, frozen=True):
    """What the market shows at desk time `at`; what is absent is unknown."""

    at: Instant | None
    quotes: tuple[Quote, ...]
    ticks: dict[str, Exact]
    fx: dict[str, Exact]
    sessions: dict[str, ExchangeSession]


class HistoryRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The last `count` complete bars of symbols of one currency."""

    symbols: Annotated[tuple[Symbol, ...], msgspec.Meta(max_length=MAX_NAMES)]
    currency: Currency
    count: Annotated[int, msgspec.Meta(ge=1, le=MAX_BARS)]


class HistoryAnswer(msgspec.Struct, frozen=True):
    """Bars by symbol, oldest first, of sessions before `session`, the running one."""

    session: Day | None
    bars: dict[str, tuple[Bar, ...]]


class Prices:
    """Answers questions about prices at desk time; changes nothing."""

    def __init__(self, desk: Desk) -> None:
        """Ask the broker of `desk`."""
        self._desk, self._broker = desk, desk.broker

    async def serve(self, rpc: Rpc) -> None:
        """Answer from now on."""
        await rpc.serve("rpc.executor.quotes", _answering(self.quotes))
        await rpc.serve("rpc.executor.history", _answering(self.history))

    async def quotes(self, payload: bytes) -> QuotesAnswer:
        """Quotes, ticks, rates and sessions now."""
        keys = decode(QuotesRequest, payload).keys
        seen = self._desk.in_step(await self._broker.observe(tuple(sorted(set(keys)))))
        return QuotesAnswer(self._desk.state.now, seen.quotes, seen.ticks, seen.fx, seen.sessions)

    async def history(self, payload: bytes) -> HistoryAnswer:
        """Bars before the running session."""
        asked = decode(HistoryRequest, payload)
        symbols = tuple(sorted(set(asked.symbols)))
        if len(symbols) * asked.count > MAX_ROWS:
            raise EnvelopeError(f"symbols × count is over {MAX_ROWS}: ask in several requests")
        found = self._desk.in_step(await self._broker.history(symbols, asked.currency, asked.count))
        return HistoryAnswer(found.session, found.bars)


def _answering(handler: Callable[[bytes], Awaitable[msgspec.Struct]]) -> Handler:
    """The handler with its failures as `{"error": {"code", "message"}}`; all but `bad_request` are worth asking again."""

    async def answer(payload: bytes) -> bytes:
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                return canonical(await handler(payload))
        except EnvelopeError as error:
            return _error("bad_request", error)
        except OutOfStep as error:
            return _error("out_of_step", error)
        except BrokerRefused as error:
            return _error(error.code, error)
        except (BrokerLost, TimeoutError) as error:
            return _error("broker_lost", error)
        except BrokerError as error:
            return _error("broker_error", error)

    return answer


def _error(code: str, error: Exception) -> bytes:
    """An error document."""
    message = str(error) or f"the broker did not answer within {ANSWER_TIMEOUT_S:g} s"
    return canonical({"error": {"code": code, "message": clean_text(message, MAX_ERROR_CHARS)}})
