"""Scenarios: what a person scripts into the market and the desk's day, as values. `scenario_file` reads them from a file.

Every entry says when it holds and what then is. Of several entries about one thing the last one that holds wins, so that the
general stands first. Texts are closed: an unknown key, a wrong type and a value out of range are errors that name the place.
"""

from typing import Annotated, Final, Literal

import msgspec

from services.simulator.orders import Command, Step
from shared.protocol.envelope import canonical, sha256_hex
from shared.protocol.instants import Day
from shared.protocol.market import MAX_SYMBOL_CHARS, Side
from shared.protocol.money import ZERO, Exact

MAX_ENTRIES: Final = 1_000
MAX_NAMES: Final = 1_000
MAX_TIMES: Final = 100
MAX_AGE_S: Final = 30 * 86_400
MAX_WITHHELD: Final = 1_000
MOST_PRICE: Final = Exact(10**15)
MOST_FACTOR: Final = Exact(10**6)
MOST_SHARES: Final = Exact(10**9)
EVERYTHING: Final = "*"
TO_THE_END: Final = "end"

Time = Annotated[str, msgspec.Meta(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
"""A time of day in New York, `HH:MM`."""
Last = Annotated[str, msgspec.Meta(pattern=rf"^([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}|{TO_THE_END})$")]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_SYMBOL_CHARS)]
Currency = Annotated[str, msgspec.Meta(pattern=r"^[A-Z]{3}$")]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Query = Literal["account", "executions", "orders", "positions"]


class Moment(msgspec.Struct, frozen=True):
    """A time of the simulation: the session's day, the step, and the time of day in New York."""

    session: str
    step: str
    time: str


class When(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """When an entry holds: always, or in `session`, or from it `through` another or to the `end`; there at one `step`, `at` one
    time of day, or from `since` `until` another, both included.
    """

    session: Day | None = None
    through: Last | None = None
    step: Step | None = None
    at: Time | None = None
    since: Time | None = None
    until: Time | None = None

    def __post_init__(self) -> None:
        """Refuse spans that cannot be; raises `ValueError`."""
        if self.through is not None and (self.session is None or self.through < self.session):
            raise ValueError(f"through = {self.through} needs a session that is not after it")
        if self.at is not None and (self.since is not None or self.until is not None):
            raise ValueError("give either at, or since and until")
        if self.since is not None and self.until is not None and self.until < self.since:
            raise ValueError(f"until = {self.until} is before since = {self.since}")

    def in_session(self, day: str) -> bool:
        """Whether the entry says anything about a session."""
        return self.session is None or self.session <= day <= (self.through or self.session)

    def holds(self, now: Moment) -> bool:
        """Whether the entry holds at a moment."""
        return (
            self.in_session(now.session)
            and self.step in {None, now.step}
            and self.at in {None, now.time}
            and (self.since or now.time) <= now.time <= (self.until or now.time)
        )


class QuoteScript(When, frozen=True, kw_only=True):
    """What is quoted for `symbol` (`*`: every name): prices, or the file's last price times `factor`, or `absent`.

    With a last price alone bid and ask follow from it as ever. `age_s`: how old the quote says that it is.
    """

    symbol: Name
    bid: Exact | None = None
    ask: Exact | None = None
    last: Exact | None = None
    factor: Exact | None = None
    absent: bool = False
    age_s: Annotated[int, msgspec.Meta(ge=0, le=MAX_AGE_S)] = 0

    def __post_init__(self) -> None:
        """Exactly one way of saying it, and prices above 0; raises `ValueError`."""
        super().__post_init__()
        prices = [price for price in (self.bid, self.ask, self.last) if price is not None]
        ways = bool(prices) + (self.factor is not None) + self.absent
        if ways > 1 or (ways == 0 and not self.age_s):
            raise ValueError("give one of: prices (bid, ask, last), factor, absent = true; or age_s alone")
        if any(number <= ZERO for number in (*prices, self.factor) if number is not None):
            raise ValueError("prices and factor are greater than 0; absent = true where there is none")
        if any(price > MOST_PRICE for price in prices) or (self.factor is not None and self.factor > MOST_FACTOR):
            raise ValueError(f"a price is at most {MOST_PRICE}, a factor at most {MOST_FACTOR}")
        if self.bid is not None and self.ask is not None and self.bid > self.ask:
            raise ValueError(f"bid = {self.bid} is above ask = {self.ask}")


class HaltScript(When, frozen=True, kw_only=True):
    """`symbol` is not traded: nothing is filled. It is not quoted either, unless `quoted`."""

    symbol: Name
    quoted: bool = False


class ClosedScript(When, frozen=True, kw_only=True):
    """An exchange is closed, as on a holiday."""

    exchange: Name


class FxScript(When, frozen=True, kw_only=True):
    """Base units per unit of a currency; `absent`: the broker gives no rate and goes on with the one it had."""

    currency: Currency
    rate: Exact | None = None
    absent: bool = False

    def __post_init__(self) -> None:
        """A rate or none; raises `ValueError`."""
        super().__post_init__()
        if (self.rate is None) is not self.absent:
            raise ValueError('give rate = "…" or absent = true')
        if self.rate is not None and self.rate <= ZERO:
            raise ValueError("a rate is greater than 0")
        if self.rate is not None and self.rate > MOST_FACTOR:
            raise ValueError(f"a rate is at most {MOST_FACTOR}")


class OrderScript(When, frozen=True, kw_only=True):
    """What becomes of orders: `reject` with `message`, or `rest`, filled with at most `shares` (0 by default) in all."""

    symbol: Name = EVERYTHING
    side: Side | None = None
    then: Literal["reject", "rest"]
    shares: Exact = ZERO
    message: Text = "Order rejected - reason: the exchange did not take it"


class AdjustScript(When, frozen=True, kw_only=True):
    """The account changes by itself, once, at the first moment at which this holds: shares of `symbol`, or cash in `currency`."""

    symbol: Name | None = None
    quantity: Exact = ZERO
    currency: Currency | None = None
    amount: Exact = ZERO

    def __post_init__(self) -> None:
        """Shares or cash, and a session; raises `ValueError`."""
        super().__post_init__()
        shares, cash = self.symbol is not None and bool(self.quantity), self.currency is not None and bool(self.amount)
        if shares == cash:
            raise ValueError("give symbol and quantity, or currency and amount, neither of them 0")
        if abs(self.quantity) > MOST_SHARES or abs(self.amount) > MOST_PRICE:
            raise ValueError(f"at most {MOST_SHARES} shares or an amount of {MOST_PRICE}")
        if self.session is None:
            raise ValueError("session is missing: an adjustment happens once")


class WithholdScript(When, frozen=True, kw_only=True):
    """The first `times` answers to `query` lack their end marker, counted anew at each step."""

    query: Query
    times: Annotated[int, msgspec.Meta(ge=1, le=MAX_WITHHELD)] = 1


class ListingScript(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Names of the price file that another exchange trades, or that have another currency than the file."""

    symbols: Annotated[tuple[Name, ...], msgspec.Meta(min_length=1, max_length=MAX_NAMES)]
    exchange: Name | None = None
    currency: Currency | None = None


class WatchScript(When, frozen=True, kw_only=True):
    """Steps of desk time inside a session at which no book is due, at these `times`."""

    times: Annotated[tuple[Time, ...], msgspec.Meta(min_length=1, max_length=MAX_TIMES)]

    def __post_init__(self) -> None:
        """Whole sessions only; raises `ValueError`."""
        super().__post_init__()
        _whole_sessions(self)


class IdleScript(When, frozen=True, kw_only=True):
    """`books` (all without) are not due in these sessions."""

    books: Annotated[tuple[Name, ...], msgspec.Meta(max_length=MAX_NAMES)] = ()

    def __post_init__(self) -> None:
        """Whole sessions only; raises `ValueError`."""
        super().__post_init__()
        _whole_sessions(self)

    def names(self, book: str, day: str) -> bool:
        """Whether it is about a book in a session."""
        return self.in_session(day) and (not self.books or book in self.books)


class DryScript(IdleScript, frozen=True, kw_only=True):
    """The runs of `books` (all without) are dry in these sessions: judged as ever, and nothing comes of it."""


class AgentsScript(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """From the session `dead_from` on no agent process runs and no book is due."""

    dead_from: Day


class MarketScript(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What is scripted of market and broker; this part can also come over the control port."""

    quote: Annotated[tuple[QuoteScript, ...], msgspec.Meta(max_length=MAX_ENTRIES)] = ()
    halt: Annotated[tuple[HaltScript, ...], msgspec.Meta(max_length=MAX_ENTRIES)] = ()
    closed: Annotated[tuple[ClosedScript, ...], msgspec.Meta(max_length=MAX_ENTRIES)] = ()
    fx: Annotated[tuple[FxScript, ...], msgspec.Meta(max_length=MAX_ENTRIES)] = ()
    order: Annotated[tuple[OrderScript, ...], msgspec.Meta(max_length=MAX_ENTRIES)] = ()
    adjust: Annotated[tuple[AdjustScript, ...], msgspec.Meta(max_length=MAX_ENTRIES)] = ()
    withhold: Annotated[tuple[WithholdScript, ...], msgspec.Meta(max_length=MAX_ENTRIES)] = ()


class Script(Command, frozen=True, tag="script"):
    """From here on the market is scripted like this too: a line of the broker's file."""

    script: MarketScript


class Scenario(MarketScript, frozen=True, kw_only=True):
    """A whole scenario: the market's part, where names are listed, and the desk's day."""

    listing: Annotated[tuple[ListingScript, ...], msgspec.Meta(max_length=MAX_ENTRIES)] = ()
    watch: Annotated[tuple[WatchScript, ...], msgspec.Meta(max_length=MAX_ENTRIES)] = ()
    idle: Annotated[tuple[IdleScript, ...], msgspec.Meta(max_length=MAX_ENTRIES)] = ()
    dry: Annotated[tuple[DryScript, ...], msgspec.Meta(max_length=MAX_ENTRIES)] = ()
    agents: AgentsScript | None = None

    def watch_times(self, day: str) -> tuple[str, ...]:
        """The times of the watch steps of a session, in order, each once."""
        return tuple(sorted({time for entry in self.watch if entry.in_session(day) for time in entry.times}))

    def is_due(self, book: str, day: str) -> bool:
        """Whether a book is due in a session."""
        if self.are_agents_dead(day):
            return False
        return not any(entry.names(book, day) for entry in self.idle)

    def is_dry(self, book: str, day: str) -> bool:
        """Whether a book's run of a session is a dry one."""
        return any(entry.names(book, day) for entry in self.dry)

    def are_agents_dead(self, day: str) -> bool:
        """Whether no agent runs any more in a session."""
        return self.agents is not None and day >= self.agents.dead_from

    def days(self) -> tuple[str, ...]:
        """Every session that is named as the first one of an entry."""
        market = (self.quote, self.halt, self.closed, self.fx, self.order, self.adjust, self.withhold)
        named = {
            entry.session for part in (*market, self.watch, self.idle, self.dry) for entry in part if entry.session is not None
        }
        return tuple(sorted(named | ({self.agents.dead_from} if self.agents else set())))

    def symbols(self) -> tuple[str, ...]:
        """Every name that is spoken of."""
        named = {entry.symbol for part in (self.quote, self.halt, self.order) for entry in part if entry.symbol != EVERYTHING}
        named |= {entry.symbol for entry in self.adjust if entry.symbol is not None}
        return tuple(sorted(named | {symbol for entry in self.listing for symbol in entry.symbols}))


NO_SCENARIO: Final = Scenario()


def scenario_hash(scenario: Scenario) -> str | None:
    """SHA-256 of what a scenario says, None for one that says nothing; layout and spelling of its file do not matter."""
    return None if scenario == NO_SCENARIO else sha256_hex(canonical(scenario))


def _whole_sessions(when: When) -> None:
    """Raise `ValueError` for an entry that names a time or step."""
    if when.step is not None or when.at is not None or when.since is not None or when.until is not None:
        raise ValueError("this entry is about whole sessions: give session and through only")
