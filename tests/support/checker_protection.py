"""The auditor's part about protection: halts, the kill switch, and what a halt or an operator wants sold."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

ZERO, HUNDRED = Decimal(0), Decimal(100)


@dataclass
class Book:
    """What the log says a book has."""

    cash: Decimal = ZERO
    deposited: Decimal = ZERO
    held: dict[str, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    open: dict[str, dict[str, Any]] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=lambda: defaultdict(int))


class Protection:
    """Halts in force, orders that they stop, books whose holdings are to be sold."""

    books: dict[str, Book]
    policy: dict[str, Any]
    observed: dict[str, dict[str, Any]]
    approved: dict[str, dict[str, Any]]
    seen_orders: set[str]
    judged: set[str]
    approvals: int

    def __init__(self) -> None:
        self.caused: set[str] = set()
        self.halts: dict[str, str] = {}
        self.selling: set[str] = set()
        self.stopped: set[str] = set()
        self.placed: set[str] = set()
        self.breached: set[str] = set()
        self.waiting: dict[str, dict[str, Any]] = {}
        self.given: list[str] = []

    def say(self, event: dict[str, Any], text: str) -> None:
        """Report a breach."""
        raise NotImplementedError

    def _runsettled(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        if event["run"] not in self.judged:
            self.say(event, "settles a run that has no verdict")

    def _bookvalued(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        if data["value"] is None:
            return None
        value, peak = Decimal(data["value"]), Decimal(data["peak"])
        is_breach = (
            value < peak and (peak - value) * HUNDRED >= Decimal(self.policy["limits"].get("max_drawdown_pct", "25")) * peak
        )
        if is_breach is not (data.get("breach") is not None):
            return self.say(event, f"values {value} of the peak {peak} and says breach: {data['breach']}")
        (self.breached.add if is_breach else self.breached.discard)(event["book"])
        return None

    def _halttripped(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        if data["cause"] == "kill_switch":
            seen = {self.observed[name]["at"] for name in data["evidence"]}
            if event["book"] not in self.breached or len(seen) < self.policy["limits"]["drawdown_confirmations"]:
                self.say(event, f"trips on {len(seen)} observations")
            value, peak = Decimal(data["value"]), Decimal(data["peak"])
            if (peak - value) * HUNDRED < Decimal(self.policy["limits"].get("max_drawdown_pct", "25")) * peak or peak <= value:
                self.say(event, f"trips at {value} of the peak {peak}")
        self._haltordered(event, data)

    def _haltordered(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        """From here on nothing approved before is sent, as far as the halt goes."""
        scope = tuple(self.books) if data["scope"] == "_desk" else (data["scope"],)
        if self.halts.get(data["scope"]) != "full":
            self.halts[data["scope"]] = data["kind"]
        for name in scope:
            stopped = (key for key, row in self.books[name].open.items() if data["kind"] == "full" or row["buy"])
            self.stopped |= {key for key in stopped if key not in self.seen_orders}
            if data["liquidate"]:
                self.selling.add(name)

    def _haltreset(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        self.halts.pop(data["scope"], None)
        self.breached -= set(self.books) if data["scope"] == "_desk" else {data["scope"]}

    def _flattenordered(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        self.selling |= set(self.books) if data["scope"] == "_desk" else {data["scope"]}

    def _approvalgiven(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        self.given.append(data["order"])

    def _orderplaced(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        self.placed.add(data["order"])

    def begins(self, event: dict[str, Any], purpose: str | None) -> None:
        """A run that the desk causes begins with its observation, and has a reason."""
        if purpose == "liquidation" and event["book"] not in self.selling:
            self.say(event, "begins to sell what neither a halt nor an operator wants sold")
        if purpose == "approval" and not self.given:
            self.say(event, "begins to judge afresh what nobody approved")
        if purpose in {"liquidation", "approval"}:
            self.caused.add(event["run"])

    def allows(self, event: dict[str, Any], buy: bool, key: str) -> None:
        """No order of a proposal is approved under a full halt, no BUY under a reduce-only one or after a breach."""
        kinds = {self.halts.get("_desk"), self.halts.get(event["book"])} - {None}
        if "full" in kinds or (buy and (kinds or event["book"] in self.breached)):
            self.say(event, f"approves {'BUY' if buy else 'SELL'} {key} under a halt {sorted(kinds, key=str)} or after a breach")

    def exits(self, event: dict[str, Any], data: dict[str, Any]) -> None:
        """Every SELL is of whole shares that the book and the broker have, a little below the price, on an open exchange."""
        if event["run"] not in self.caused:
            return self.say(event, "sells without an observation of its own")
        evidence = self.observed[data["evidence"][0]]
        for row in data["decisions"]:
            if row["approved"]:
                self.approvals += 1
                self._exit(event, row, evidence)
            elif not row["reasons"]:
                self.say(event, f"blocks the exit {row['index']} without a reason")
        return None

    def _exit(self, event: dict[str, Any], row: dict[str, Any], evidence: dict[str, Any]) -> None:
        book, key = self.books[event["book"]], f"{row['symbol']}:{row['currency']}"
        quantity, limit, tick = Decimal(row["quantity"]), Decimal(row["limit"]), Decimal(evidence["ticks"][key])
        pending = sum((o["left"] for b in self.books.values() for o in b.open.values() if o["key"] == key and not o["buy"]), ZERO)
        own = sum((o["left"] for o in book.open.values() if o["key"] == key and not o["buy"]), ZERO)
        positions = evidence["positions"]  # None: the broker did not say, its last complete answer counted
        most = book.held[key] - own if positions is None else min(book.held[key] - own, Decimal(positions[key]) - pending)
        if row["side"] != "SELL" or quantity < 1 or quantity % 1 or quantity > most:
            self.say(event, f"sells {row['side']} {quantity} of {key}, {most} can be sold")
        quote = next(q for q in evidence["quotes"] if f"{q['symbol']}:{q['currency']}" == key)
        reference = reference_price(quote)
        lowest = max(Decimal(1), 5 * Decimal(self.policy["limits"]["max_price_deviation_pct"]))
        highest = max(reference * 99 / HUNDRED, tick)
        if limit % tick or limit > highest or limit < reference * (HUNDRED - lowest) / HUNDRED - tick:
            self.say(event, f"sells {key} at {limit}, the price is {reference}")
        if not self.is_open(key, evidence):
            self.say(event, f"sells {key} while its exchange is closed")
        self.opened(event, row, key, False, quantity, limit, Decimal(evidence["fx"].get(row["currency"], "1")))

    def is_open(self, key: str, evidence: dict[str, Any]) -> bool:
        """Whether the instrument's own exchange is open, or all are where the universe names none."""
        rows = (row for row in self.policy["universe"] if f"{row['symbol']}:{row['currency']}" == key)
        exchange = next((row.get("exchange") for row in rows), None)
        sessions = evidence["sessions"]
        return bool(sessions[exchange]["open"] if exchange else all(row["open"] for row in sessions.values()))

    def opened(
        self, event: dict[str, Any], row: dict[str, Any], key: str, buy: bool, quantity: Decimal, limit: Decimal, fx: Decimal
    ) -> str:
        """Count an approved order and keep it; returns the month in which it counts."""
        book, zone = self.books[event["book"]], ZoneInfo(self.policy["limits"]["month_timezone"])
        month = datetime.fromisoformat(event["at"]).astimezone(zone).strftime("%Y-%m")
        book.used[month] += 1
        order = {"key": key, "buy": buy, "left": quantity, "limit": limit, "fx": fx, "currency": row["currency"], "month": month}
        book.open[row["order"]] = self.approved[row["order"]] = {**order, "quantity": quantity}
        return month


def reference_price(quote: dict[str, Any]) -> Decimal:
    """`last` inside bid and ask or without them, else their middle."""
    bid, ask, last = (Decimal(quote[name]) if quote[name] is not None else None for name in ("bid", "ask", "last"))
    if last is not None and (bid is None or ask is None or bid <= last <= ask):
        return last
    if bid is None or ask is None:
        raise ValueError(f"no price for {quote['symbol']}")
    return (bid + ask) / 2
