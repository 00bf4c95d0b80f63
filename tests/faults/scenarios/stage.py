"""A desk on a small market of its own, under a scenario: run once through the real processes, then looked at from the outside.

The market is calm: AAA trades at 100, BBB at 50, CCC at 20 all week, between 1 % below and above, so that every movement is the
scenario's. New York is four hours behind UTC in that week.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from services.simulator.broker import Broker
from services.simulator.exchange import Exchange
from services.simulator.journal_file import JournalFile
from services.simulator.orders import Order, Terms
from services.simulator.prices import load_prices
from services.simulator.scenario_file import load_scenario
from tests.support.desks import command, read_log

MON, TUE, WED, THU, FRI = (f"2022-10-0{day}" for day in range(3, 8))
WEEK = (MON, TUE, WED, THU, FRI)
PRICES = {"AAA": Decimal(100), "BBB": Decimal(50), "CCC": Decimal(20)}
POLICY = """
[policy]
base_currency = "USD"
[policy.limits]
month_timezone = "America/New_York"
max_position_pct = 60
max_trades_per_month = {orders}
{limits}
[policy.account]
{account}
[[policy.commission]]
currency = "USD"
per_share = "0.005"
minimum = "1.00"
maximum_pct = "1"
[[policy.commission]]
currency = "AUD"
per_share = "0.005"
minimum = "1.00"
maximum_pct = "1"
"""

Orders = Sequence[tuple[str, str, int, str]]
"""Orders of one day: side, symbol (`BHP:AUD` where its currency is not USD), shares, limit."""


@dataclass(frozen=True)
class Events:
    """What stands in the log, in order."""

    all: tuple[dict[str, Any], ...]

    def of(self, event_type: str, book: str | None = None, /, **data: Any) -> list[dict[str, Any]]:
        """Events of a type, of a book, with these fields in their data."""
        return [
            event
            for event in self.all
            if event["type"] == event_type
            and book in {None, event["book"]}
            and all(event["data"].get(name) == value for name, value in data.items())
        ]

    def data(self, event_type: str, book: str | None = None, /, **data: Any) -> list[dict[str, Any]]:
        """Their data alone."""
        return [event["data"] for event in self.of(event_type, book, **data)]

    def place(self, event: dict[str, Any]) -> int:
        """Where in the log an event stands."""
        return self.all.index(event)

    def statuses(self, book: str) -> dict[str, str]:
        """How the runs of a book ended, by day."""
        return {event["at"][:10]: event["data"]["status"] for event in self.of("RunEnded", book)}


@dataclass(frozen=True)
class Played:
    """A run that is over: how the command ended, its log, and the broker's own memory."""

    code: int
    out: str
    err: str
    log: Events
    orders: tuple[Order, ...]
    positions: dict[str, int]

    def sent(self, side: str, symbol: str | None = None) -> list[Order]:
        """Orders that the broker got."""
        return [order for order in self.orders if order.side == side and symbol in {None, order.symbol}]


class Stage:
    """A folder with prices, policy, decisions and a scenario."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.desk = folder, folder / "desk"
        self.prices, self.policy, self.scenario = (folder / name for name in ("prices.csv", "policy.toml", "scenario.toml"))
        self._write_prices()
        self.rules()

    def _write_prices(self) -> None:
        rows = ["date,symbol,open,high,low,close,volume"]
        for day in ("2022-09-30", *WEEK):
            rows += [f"{day},{name},{p},{p * Decimal('1.01')},{p * Decimal('0.99')},{p}," for name, p in PRICES.items()]
        self.prices.write_text("\n".join(rows) + "\n", "utf-8")

    def rules(self, limits: str = "", account: str = "", orders: int = 100) -> "Stage":
        """The policy, with lines of limits and of the account's."""
        self.policy.write_text(POLICY.format(limits=limits, account=account, orders=orders), "utf-8")
        return self

    def arguments(self, scenario: str, books: Mapping[str, Mapping[str, Orders]], days: int = 5) -> list[str]:
        """The arguments of `propdesk run`; each book's decisions by day."""
        self.scenario.write_text(scenario, "utf-8")
        sources = []
        for book, decisions in books.items():
            path = self.folder / f"{book}.jsonl"
            path.write_text("".join(_line(day, orders) for day, orders in decisions.items()), "utf-8")
            sources += ["--source", f"file:{path}@{book}"]
        files = ["--data", str(self.prices), "--policy", str(self.policy), "--scenario", str(self.scenario)]
        return [*files, "--from", MON, "--days", str(days), *sources]

    def play(self, scenario: str, books: Mapping[str, Mapping[str, Orders]], days: int = 5) -> Played:
        """Run to the end, whatever it is."""
        done = command("run", "--json", "--no-serve", "--dir", str(self.desk), *self.arguments(scenario, books, days))
        return self.looked_at(done.returncode, done.stdout, done.stderr)

    def looked_at(self, code: int, out: str, err: str) -> Played:
        """Log and broker of a run that is over."""
        log = Events(tuple(message.event for message in read_log(self.desk)))
        exchange = Exchange(load_prices(self.prices), Terms(), load_scenario(self.scenario))
        journal = JournalFile.open(self.desk / "broker")
        try:
            broker = Broker(exchange, journal)
            held = {symbol: int(shares) for symbol, shares in broker.state.positions.items()}
            return Played(code, out, err, log, tuple(broker.orders.values()), held)
        finally:
            journal.close()


def _line(day: str, orders: Orders) -> str:
    """One line of a file of decisions."""
    rows = [
        {"symbol": name.partition(":")[0], "currency": name.partition(":")[2] or "USD", "side": side, **_size(shares, limit)}
        for side, name, shares, limit in orders
    ]
    return json.dumps({"date": day, "orders": rows}) + "\n"


def _size(shares: int, limit: str) -> dict[str, str]:
    return {"quantity": str(shares), "limit": limit}


def moved(factor: str, *, session: str, symbol: str = "*", **when: str) -> str:
    """A scenario's entry that moves prices by a factor."""
    return entry("quote", symbol=symbol, factor=factor, session=session, **when)


def entry(kind: str, **fields: Any) -> str:
    """One entry of a scenario."""
    return f"[[{kind}]]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in fields.items())
