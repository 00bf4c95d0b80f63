"""What the market shows at a moment: last price, quote and history, never anything that is still to come."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Final, NamedTuple

from services.simulator.exact import EXACT
from services.simulator.orders import TICK, Session
from services.simulator.prices import Fields, PriceFile
from shared.protocol.money import Exact

HALF_SPREAD: Final = Decimal("0.0002")


class Moment(NamedTuple):
    """A session of the price file by its index, and whether it has closed."""

    session: int
    closed: bool


class Prices(NamedTuple):
    """The quote of one instrument; absent is None. `close` is that of the session before."""

    bid: Exact | None = None
    ask: Exact | None = None
    last: Exact | None = None
    close: Exact | None = None


def moment(clock: str, session: Session) -> Moment:
    """The moment at `clock`, which is not before the session's open."""
    return Moment(session.index, clock >= session.closes_at)


def last_price(file: PriceFile, symbol: str, now: Moment) -> Decimal | None:
    """The close once the session has closed; before that its open, or where that is unknown the close of the session before.

    A name without a bar in this session has no last price: not yesterday's, not zero.
    """
    fields = file.fields(symbol, now.session)
    if fields is None:
        return None
    if now.closed:
        return file.close(symbol, now.session)
    return Decimal(fields.open) if fields.open is not None else file.close(symbol, now.session - 1)


def prices(file: PriceFile, symbol: str, now: Moment) -> Prices:
    """Last price with a spread of 2 basis points to either side, rounded outward to the tick."""
    before = file.close(symbol, now.session - 1)
    close = None if before is None else Exact(before)
    last = last_price(file, symbol, now)
    if last is None:
        return Prices(close=close)
    bid, ask = to_tick(last, 1 - HALF_SPREAD, ROUND_FLOOR), to_tick(last, 1 + HALF_SPREAD, ROUND_CEILING)
    return Prices(bid if bid > 0 else None, ask, Exact(last), close)


def to_tick(price: Decimal, factor: Decimal, rounding: str) -> Exact:
    """`price` times `factor` on the tick; dividing by 0.01 is exact."""
    ticks = EXACT.divide(EXACT.multiply(price, factor), TICK).to_integral_value(rounding=rounding)
    return Exact(EXACT.multiply(ticks, TICK))


def mark(file: PriceFile, symbol: str, now: Moment) -> Decimal | None:
    """What a broker values a position at: the last price, where there is none the newest close that is known."""
    index = now.session
    found = last_price(file, symbol, now)
    while found is None and index > 0:
        index -= 1
        found = file.close(symbol, index)
    return found


def history(file: PriceFile, symbol: str, count: int, now: Moment) -> list[tuple[str, Fields]]:
    """The last `count` bars that are complete, oldest first, each with its day: the running session's own is not among them."""
    bars: list[tuple[str, Fields]] = []
    index = now.session if now.closed else now.session - 1
    while index >= 0 and len(bars) < count:
        if (fields := file.fields(symbol, index)) is not None:
            bars.append((file.sessions[index].isoformat(), fields))
        index -= 1
    return bars[::-1]
