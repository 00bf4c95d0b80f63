"""The market as it is at one moment: what the prices say, and over it what a scenario says. Pure.

Nothing scripted: every answer is the price file's own. History is never scripted: bars stay what they were.
"""

from collections.abc import Iterable
from datetime import timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import NamedTuple, TypeVar

from services.simulator.market import HALF_SPREAD, mark, prices, to_tick
from services.simulator.orders import EXCHANGE, TICK, Order, Place
from services.simulator.scenario import (
    EVERYTHING,
    AdjustScript,
    FxScript,
    HaltScript,
    MarketScript,
    Moment,
    OrderScript,
    QuoteScript,
    WithholdScript,
)
from services.simulator.state import Exchange, State
from shared.ledger.periods import exchange_time_of
from shared.protocol.instants import Instant, parse, to_text
from shared.protocol.money import Exact

Entry = TypeVar("Entry", QuoteScript, HaltScript, OrderScript)


class Quoted(NamedTuple):
    """What is quoted of an instrument; absent is None. `scripted`: the price file has no say in it."""

    at: Instant
    bid: Exact | None = None
    ask: Exact | None = None
    last: Exact | None = None
    close: Exact | None = None
    scripted: bool = False


class Scene:
    """One moment of the exchange. Make it anew whenever the state has changed."""

    __slots__ = ("_exchange", "_moment", "_scripts", "_state")

    def __init__(self, exchange: Exchange, state: State) -> None:
        """Look at `state`; before its first advance nothing scripted holds."""
        self._exchange, self._state = exchange, state
        self._scripts: tuple[MarketScript, ...] = ()
        self._moment = Moment("", "", "")
        if state.clock is not None and state.session is not None and (state.scripts or exchange.is_scripted):
            self._scripts = (exchange.scenario, *state.scripts)
            self._moment = Moment(state.session.day, state.step or "", exchange_time_of(state.clock))

    def quoted(self, symbol: str) -> Quoted:
        """What is quoted now; call it at a moment that has a time."""
        state = self._state
        if state.now is None or state.clock is None:
            return Quoted("")
        found = prices(self._exchange.file, symbol, state.now)
        plain = Quoted(state.clock, *found)
        if not self._scripts:
            return plain
        halt = self.halt(symbol)
        if halt is not None and not halt.quoted:
            return Quoted(state.clock, close=found.close, scripted=True)
        entry = self._last((script.quote for script in self._scripts), symbol)
        return plain if entry is None else _scripted(plain, entry)

    def halt(self, symbol: str) -> HaltScript | None:
        """The halt of a name that holds now."""
        return self._last((script.halt for script in self._scripts), symbol)

    def order(self, order: Order | Place) -> OrderScript | None:
        """What is scripted for an order."""
        entries = (
            tuple(row for row in script.order if row.side in {None, order.side} and self._is_about(row, order.symbol))
            for script in self._scripts
        )
        return next((row for rows in reversed(list(entries)) for row in reversed(rows)), None)

    def exchanges(self) -> tuple[str, ...]:
        """Every exchange, the usual one first."""
        listed = dict.fromkeys(entry.exchange for entry in self._exchange.scenario.listing if entry.exchange)
        return tuple(dict.fromkeys((EXCHANGE, *listed)))

    def is_open(self, exchange: str) -> bool:
        """Whether an exchange trades now."""
        now = self._state.now
        if now is None or now.closed:
            return False
        closed = (entry for script in self._scripts for entry in script.closed)
        return not any(entry.exchange == exchange and entry.holds(self._moment) for entry in closed)

    def trades(self, symbol: str) -> bool:
        """Whether orders of a name are filled now, as far as the session goes."""
        exchange = self._exchange.exchange_of(symbol)
        closed = (entry for script in self._scripts for entry in script.closed)
        shut = any(entry.exchange == exchange and entry.holds(self._moment) for entry in closed)
        return not shut and self.halt(symbol) is None

    def rates(self) -> dict[str, Exact]:
        """Base units per unit of each currency, those that are not given out included."""
        found = self._exchange.terms.rates()
        return {**found, **{entry.currency: entry.rate for entry in self._fx() if entry.rate is not None}}

    def given_rates(self) -> dict[str, Exact]:
        """The rates that the broker tells."""
        newest = {entry.currency: entry for entry in self._fx()}
        return {currency: rate for currency, rate in sorted(self.rates().items()) if not _is_absent(newest.get(currency))}

    def mark(self, symbol: str) -> Decimal | None:
        """What the broker values a position at."""
        last = self.quoted(symbol).last
        return last if last is not None or self._state.now is None else mark(self._exchange.file, symbol, self._state.now)

    def withheld(self) -> tuple[WithholdScript, ...]:
        """Which answers lack their end marker now."""
        return tuple(entry for script in self._scripts for entry in script.withhold if entry.holds(self._moment))

    def adjustments(self) -> tuple[tuple[str, AdjustScript], ...]:
        """The adjustments that hold now, each under the name of its place."""
        placed = ((f"{at}/{row}", entry) for at, script in enumerate(self._scripts) for row, entry in enumerate(script.adjust))
        return tuple((place, entry) for place, entry in placed if entry.holds(self._moment))

    def _fx(self) -> list[FxScript]:
        """The rates that are scripted now, the newest last."""
        return [entry for script in self._scripts for entry in script.fx if entry.holds(self._moment)]

    def _last(self, scripts: Iterable[tuple[Entry, ...]], symbol: str) -> Entry | None:
        """The last entry about a name that holds now."""
        return next((row for rows in reversed(list(scripts)) for row in reversed(rows) if self._is_about(row, symbol)), None)

    def _is_about(self, entry: Entry, symbol: str) -> bool:
        """Whether an entry speaks of a name, now."""
        return entry.symbol in {symbol, EVERYTHING} and entry.holds(self._moment)


def _is_absent(entry: FxScript | None) -> bool:
    """Whether the newest word about a currency is that there is none."""
    return entry is not None and entry.absent


def _scripted(plain: Quoted, entry: QuoteScript) -> Quoted:
    """A quote as an entry has it."""
    at = plain.at if not entry.age_s else to_text(parse(plain.at) - timedelta(seconds=entry.age_s))
    if entry.absent:
        return Quoted(at, close=plain.close, scripted=True)
    if entry.factor is not None:
        return plain._replace(at=at) if plain.last is None else _around(at, _times(plain.last, entry.factor), plain.close)
    if entry.last is not None and entry.bid is None and entry.ask is None:
        return _around(at, entry.last, plain.close)
    if entry.last is None and entry.bid is None and entry.ask is None:
        return plain._replace(at=at)
    return Quoted(at, entry.bid, entry.ask, entry.last, plain.close, scripted=True)


def _times(last: Exact, factor: Exact) -> Exact:
    """A price times a factor on the tick, at least one."""
    return max(to_tick(last, factor, ROUND_HALF_EVEN), TICK)


def _around(at: Instant, last: Exact, close: Exact | None) -> Quoted:
    """A last price with the usual spread."""
    bid, ask = to_tick(last, 1 - HALF_SPREAD, ROUND_FLOOR), to_tick(last, 1 + HALF_SPREAD, ROUND_CEILING)
    return Quoted(at, bid if bid > 0 else None, ask, last, close, scripted=True)
