"""Asks the broker itself: the real simulator process, started again on what a desk left behind."""

import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.support.desks import wait_for

DATA = Path(__file__).parents[2] / "services" / "simulator" / "data" / "us-stocks-daily.csv"


@dataclass(frozen=True)
class Account:
    """What the broker says: shares by instrument key, cash of the base currency, orders per reference."""

    positions: dict[str, Decimal]
    cash: Decimal
    orders: dict[str, int]


def broker_account(folder: Path, data: Path = DATA) -> Account:
    """Positions, cash and orders of a desk's simulator."""
    port_file = folder / "broker" / "port"
    port_file.unlink(missing_ok=True)
    env = {
        **os.environ,
        "PROPDESK_SIMULATOR_DIR": str(folder / "broker"),
        "PROPDESK_SIMULATOR_DATA": str(data),
        "PROPDESK_SIMULATOR_BASE_CURRENCY": "USD",
    }
    process = subprocess.Popen([sys.executable, "-m", "services.simulator"], env=env, stderr=subprocess.PIPE, text=True)
    try:
        port = int(wait_for(lambda: port_file.exists() and port_file.read_text().strip(), 20))
        with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rw") as lines:
            ask(lines, 1, "hello", client="auditor")
            positions = ask(lines, 2, "positions")["positions"]
            cash = ask(lines, 3, "account")["cash"]
            orders = ask(lines, 4, "orders")["orders"]
    finally:
        process.terminate()
        process.communicate(timeout=10)
    counted: dict[str, int] = {}
    for order in orders:
        counted[order["ref"]] = counted.get(order["ref"], 0) + 1
    rows = positions if isinstance(positions, list) else list(positions.values())
    return Account(
        {f"{row['symbol']}:{row['currency']}": Decimal(row["quantity"]) for row in rows}, Decimal(cash["USD"]), counted
    )


def ask(lines: Any, number: int, op: str, **fields: Any) -> dict[str, Any]:
    """One request and its answer."""
    lines.write(json.dumps({"id": number, "op": op, **fields}) + "\n")
    lines.flush()
    answer = json.loads(lines.readline())
    assert answer["ok"], answer
    return answer  # type: ignore[no-any-return]
