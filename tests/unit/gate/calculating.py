"""The calculator's three files, and documents that are right but for what a test changes."""

import json
from pathlib import Path
from typing import Any

import pytest

from services.gate.calculator import InputError, check_files

POLICY = """
[policy]
base_currency = "USD"
[policy.limits]
max_trades_per_month = 10
[policy.universe]
files = ["universe.csv"]
[[policy.commission]]
currency = "USD"
per_share = "0.005"
minimum = "1.00"
maximum_pct = "1"
[[policy.commission]]
currency = "AUD"
per_share = "0.01"
minimum = "5"
maximum_pct = "1"
"""
UNIVERSE = "symbol,exchange,currency,name,source\nAAA,SMART,USD,,\nBBB,SMART,USD,,\nBHP,ASX,AUD,,\n"
AT = "2022-10-03T14:30:00Z"


def state(**changes: Any) -> dict[str, Any]:
    """10,000 USD and no holding; AAA at 100, BBB at 50, BHP at 40 AUD."""
    quotes = [
        {"symbol": symbol, "currency": currency, "last": last, "kind": "sim", "at": AT}
        for symbol, currency, last in (("AAA", "USD", "100"), ("BBB", "USD", "50"), ("BHP", "AUD", "40"))
    ]
    return {
        "now": AT,
        "book": "alpha",
        "base_currency": "USD",
        "cash": "10000",
        "peak": "10000",
        "halt": None,
        "orders_used": {"month": 0, "day": 0},
        "holdings": [],
        "working": [],
        "fx": {"AUD": "0.65"},
        "quotes": quotes,
        "sessions": {name: {"open": True, "closes_at": "2022-10-03T20:00:00Z"} for name in ("SMART", "ASX")},
        **changes,
    }


def buy(**changes: Any) -> dict[str, Any]:
    return {"symbol": "AAA", "currency": "USD", "side": "BUY", "quantity": "10", "limit": "100", "reason": "because", **changes}


def working(**changes: Any) -> dict[str, Any]:
    row = {"book": "alpha", "symbol": "AAA", "currency": "USD", "side": "BUY", "quantity": "5", "filled": "0", "limit": "99"}
    return {**row, **changes}


class Desk:
    """The three files."""

    def __init__(self, folder: Path) -> None:
        self.policy, self.state, self.orders = (folder / name for name in ("policy.toml", "state.json", "orders.json"))
        self.policy.write_text(POLICY, "utf-8")
        (folder / "universe.csv").write_text(UNIVERSE, "utf-8")
        self.write(state(), [buy()])

    def write(self, state_document: Any, orders: Any) -> None:
        self.state.write_text(state_document if isinstance(state_document, str) else json.dumps(state_document), "utf-8")
        self.orders.write_text(orders if isinstance(orders, str) else json.dumps(orders), "utf-8")

    def check(self, state_document: Any = None, orders: Any = None) -> Any:
        self.write(state() if state_document is None else state_document, [buy()] if orders is None else orders)
        return check_files(self.policy, self.state, self.orders)

    def refused(self, state_document: Any = None, orders: Any = None) -> str:
        with pytest.raises(InputError) as error:
            self.check(state_document, orders)
        message = str(error.value)
        assert "\n" not in message
        return message
