"""Past closes, as the executor is asked for them and as it answers. Pure."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from services.agent.sources.port import Close, symbol_order
from shared.protocol.envelope import EnvelopeError, canonical, decode
from shared.protocol.instants import Day
from shared.protocol.market import instrument_key, split_key
from shared.protocol.money import Exact

SUBJECT: Final = "rpc.executor.history"
MAX_MESSAGE_CHARS: Final = 300
NAMES_A_REQUEST: Final = 25

Closes = dict[str, tuple[Close, ...]]


class HistoryAsk(NamedTuple):
    """What is asked: closes of `depth` sessions before `session`, by instrument key."""

    session: Day
    names: tuple[str, ...]
    depth: int

    def requests(self) -> tuple[tuple[str, bytes], ...]:
        """Currency and payload of each request: one currency and at most `NAMES_A_REQUEST` names, so that the answer fits."""
        by_currency: dict[str, list[str]] = {}
        for key in sorted(self.names, key=symbol_order):
            symbol, currency = split_key(key)
            by_currency.setdefault(currency, []).append(symbol)
        return tuple(
            (currency, canonical({"symbols": symbols[at : at + NAMES_A_REQUEST], "currency": currency, "count": self.depth}))
            for currency, symbols in sorted(by_currency.items())
            for at in range(0, len(symbols), NAMES_A_REQUEST)
        )


class HistoryError(Exception):
    """No answer that can be used yet, and why."""


class _Bar(msgspec.Struct, frozen=True):
    """The part of a bar that sources use; a close may be unknown."""

    date: Day
    close: Exact | None = None


class _Fault(msgspec.Struct, frozen=True):
    """Why the executor has no answer."""

    code: str
    message: str


class _Answer(msgspec.Struct, frozen=True):
    """The executor's answer: bars by symbol as of `session`, or an error."""

    session: Day = ""
    bars: dict[str, tuple[_Bar, ...]] = {}
    error: _Fault | None = None


def read_answer(ask: HistoryAsk, currency: str, payload: bytes) -> Closes:
    """The closes before the session by key, oldest first; raises `HistoryError` for an error, another session or other bytes."""
    try:
        answer = decode(_Answer, payload)
    except EnvelopeError as error:
        raise HistoryError(str(error)[:MAX_MESSAGE_CHARS]) from error
    if answer.error is not None:
        raise HistoryError(f"{answer.error.code}: {answer.error.message}"[:MAX_MESSAGE_CHARS])
    if answer.session != ask.session:
        raise HistoryError(f"the answer is of the session {answer.session[:10]!r}, asked was {ask.session}")
    return {instrument_key(symbol, currency): _closes(ask.session, bars) for symbol, bars in answer.bars.items()}


def _closes(session: Day, bars: Sequence[_Bar]) -> tuple[Close, ...]:
    """Known closes before `session`, oldest first: the running session's own bar is never history."""
    return tuple(sorted(Close(bar.date, bar.close) for bar in bars if bar.close is not None and bar.date < session))
