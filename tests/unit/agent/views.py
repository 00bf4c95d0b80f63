"""Views for the tests of sources: a universe of plain US names, prices and history given as text."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from services.agent.sources import Close, RunView
from shared.protocol.money import Exact

# September 2022 is closed on the 5th; the window begins in mid-month.
SESSIONS = (
    "2022-09-14",
    "2022-09-15",
    "2022-09-16",
    "2022-09-29",
    "2022-09-30",
    "2022-10-03",
    "2022-10-04",
    "2022-10-05",
    "2022-11-01",
    "2022-11-02",
    "2022-11-03",
)


def usd(symbol: str) -> str:
    """The key of a US name."""
    return f"{symbol}:USD"


def view(
    prices: Mapping[str, str | None],
    *,
    index: int = 0,
    value: str | None = "10000",
    held: Mapping[str, str] | None = None,
    history: Mapping[str, Sequence[Close]] | None = None,
    names: Sequence[str] | None = None,
) -> RunView:
    """A view of session `index`; `prices` are reference prices by symbol, None is unknown. Dict orders are kept as given."""
    return RunView(
        session=SESSIONS[index],
        index=index,
        sessions=SESSIONS,
        names=tuple(usd(name) for name in (names or prices)),
        cash=Exact("10000"),
        holdings={usd(name): Exact(shares) for name, shares in (held or {}).items()},
        value=None if value is None else Exact(value),
        references={usd(name): Exact(price) for name, price in prices.items() if price is not None},
        fx={"USD": Exact(1)},
        history={usd(name): tuple(closes) for name, closes in (history or {}).items()},
    )


def closes(first: str, last: str, count: int = 127, end: str = "2022-09-13") -> tuple[Close, ...]:
    """`count` closes on consecutive days up to `end`, from `first` to `last` with 1 in between."""
    days = [(date.fromisoformat(end) - timedelta(days=back)).isoformat() for back in range(count - 1, -1, -1)]
    prices = [first, *["1"] * (count - 2), last]
    return tuple(Close(day, Exact(price)) for day, price in zip(days, prices, strict=True))
