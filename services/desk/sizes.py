"""Whether the largest events that a run can cause fit into the log, checked before anything is written. Pure."""

from bisect import bisect_right
from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from services.desk.errors import UsageError
from services.desk.steps import Plan
from shared.protocol.envelope import canonical
from shared.protocol.events import (
    LARGE_TYPES,
    MAX_EVENT_BYTES,
    MAX_LARGE_EVENT_BYTES,
    AccountReconciled,
    BookValued,
    Breach,
    ClockAdvanced,
    Data,
    HoldingValued,
    MarketObserved,
    OrdersUsed,
    RunStarted,
)
from shared.protocol.ids import MAX_ORDERS
from shared.protocol.market import ExchangeSession, Instrument, Quote, QuoteKind
from shared.protocol.money import Exact

ENVELOPE_BYTES: Final = 2048
"""What surrounds an event's data at most: ids, hashes, names of desk, book and run."""

PRICE: Final = Exact("9999999.9999")
AMOUNT: Final = Exact("-999999999999.99999999")
INSTANT: Final = "2022-12-28T21:00:00.000000Z"
DAY: Final = "2022-12-28"
LONGEST_ID: Final = "x" * 100
TICK: Final = Exact("0.0001")
SHARES: Final = Exact(9_999_999)

Sized = Callable[[tuple[Instrument, ...]], Data]
"""The largest event of a type with these instruments."""


def check_sizes(plan: Plan, in_data: int) -> None:
    """Raise `UsageError` that names an event too large for the log, the symbols of universe and data, and how many fit."""
    universe = plan.policy.policy.universe
    opening = ClockAdvanced(INSTANT, "open", DAY, (), plan.args)
    if _size(opening) > MAX_LARGE_EVENT_BYTES:
        raise UsageError(f"{len(plan.args.sessions)} sessions and {len(plan.args.books)} books do not fit: trade fewer --days")
    kinds = (_policy_of(plan), _started, _seen, _reconciled_of(plan), _valued_of(plan))
    too_large = [data for data in (largest(universe) for largest in kinds) if _size(data) > limit_of(data)]
    if too_large:
        first = too_large[0]
        fits = min(_fitting(universe, largest) for largest in kinds)
        raise UsageError(
            f"a universe of {len(universe)} symbols ({in_data} in the data) is too large: {type(first).__name__} would have "
            f"{_size(first)} bytes of at most {limit_of(first)}; {fits} symbols fit: name them in [policy.universe] of a --policy"
        )


def limit_of(data: Data) -> int:
    """How many bytes an event of this type may have."""
    return MAX_LARGE_EVENT_BYTES if type(data).__name__ in LARGE_TYPES else MAX_EVENT_BYTES


def _size(data: Data) -> int:
    return ENVELOPE_BYTES + len(canonical(data))


def _fitting(universe: tuple[Instrument, ...], largest: Sized) -> int:
    """How many of the instruments, in their order, would fit."""
    limit = limit_of(largest(()))
    return bisect_right(range(len(universe) + 1), limit, key=lambda count: _size(largest(universe[:count]))) - 1


def _policy_of(plan: Plan) -> Sized:
    """The adopted policy."""
    adopted = plan.policy

    def largest(names: tuple[Instrument, ...]) -> Data:
        return replace(adopted, policy=replace(adopted.policy, universe=names))

    return largest


def _started(names: tuple[Instrument, ...]) -> Data:
    """A run that asks for every name."""
    return RunStarted(LONGEST_ID, INSTANT, DAY, tuple(row.key for row in names))


def _seen(names: tuple[Instrument, ...]) -> Data:
    """Prices, ticks and sessions of every name, each field known and long."""
    quotes = tuple(Quote(row.symbol, row.currency, QuoteKind.DELAYED, INSTANT, PRICE, PRICE, PRICE, PRICE) for row in names)
    session = ExchangeSession(open=True, day=DAY, opens_at=INSTANT, closes_at=INSTANT)
    currencies = dict.fromkeys((row.currency for row in names), PRICE)
    exchanges = dict.fromkeys((row.exchange for row in names), session)
    return MarketObserved("verdict", quotes, {row.key: TICK for row in names}, currencies, exchanges)


def _reconciled_of(plan: Plan) -> Sized:
    """An account that holds all that its books can hold."""
    most = len(plan.args.books) * _most_bought(plan)

    def largest(names: tuple[Instrument, ...]) -> Data:
        positions = {row.key: SHARES for row in _longest(names, most)}
        return AccountReconciled(LONGEST_ID, {"USD": AMOUNT}, positions, ())

    return largest


def _most_bought(plan: Plan) -> int:
    """How many names one book can come to hold: its policy bounds the orders of a month, a proposal those of a session."""
    months = len({session[:7] for session in plan.args.sessions}) + 1  # the policy's time zone may begin another one
    return min(months * plan.policy.policy.limits.max_trades_per_month, MAX_ORDERS * len(plan.args.sessions))


def _longest(names: tuple[Instrument, ...], most: int) -> tuple[Instrument, ...]:
    """Those that take the most room."""
    return tuple(sorted(names, key=lambda row: -len(row.key))[:most])


def _valued_of(plan: Plan) -> Sized:
    """A book that holds as many names as it can come to hold."""
    most = _most_bought(plan)

    def largest(names: tuple[Instrument, ...]) -> Data:
        held = tuple(HoldingValued(row.symbol, row.currency, SHARES, PRICE, PRICE) for row in _longest(names, most))
        breach = Breach(10, INSTANT, "x" * 9 * len(held), LONGEST_ID, (LONGEST_ID,) * 10)
        return BookValued(
            "close", AMOUNT, held, AMOUNT, AMOUNT, AMOUNT, AMOUNT, OrdersUsed(9999, 9999), (LONGEST_ID,) * 2, LONGEST_ID, breach
        )

    return largest
