"""`propdesk gate check` on a thousand orders, from the start of its process to its document.

Beside it: a process that only reads the three files and writes as long a document. A figure is the quickest of some rounds.
Prints, never asserts speed; the number of approvals is checked against plain arithmetic.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from _table import Figure, parser, report

PROPDESK: Final = Path(sys.executable).with_name("propdesk")
ORDERS: Final = 1_000
POSITIONS: Final = 20
AT: Final = "2022-10-03T14:30:00Z"
POLICY: Final = """
[policy]
base_currency = "USD"
[policy.limits]
max_trades_per_month = 5000
max_position_pct = 100
max_commission_pct = 100
[policy.universe]
files = ["universe.csv"]
[[policy.commission]]
currency = "USD"
per_share = "0.005"
minimum = "1"
maximum_pct = "1"
"""
BARE: Final = "import json,sys; d=[json.load(open(p)) for p in sys.argv[1:3]]; print(json.dumps(d))"


def documents(folder: Path) -> tuple[str, ...]:
    """The arguments: 20 shares of 20 names and no cash; 500 SELLs of one share, 500 BUYs of five that they pay for."""
    names = [f"S{index:04d}" for index in range(POSITIONS)]
    (folder / "universe.csv").write_text("symbol,exchange,currency,name,source\n" + "".join(f"{s},SMART,USD,,\n" for s in names))
    (folder / "policy.toml").write_text(POLICY)
    state = {
        "now": AT, "book": "alpha", "base_currency": "USD", "cash": "0", "peak": "0", "halt": None,
        "orders_used": {"month": 0, "day": 0}, "working": [], "fx": {},
        "holdings": [{"symbol": symbol, "currency": "USD", "quantity": "20"} for symbol in names],
        "quotes": [{"symbol": symbol, "currency": "USD", "last": "100", "kind": "sim", "at": AT} for symbol in names],
        "sessions": {"SMART": {"open": True, "closes_at": "2022-10-03T20:00:00Z"}},
    }  # fmt: skip
    half = ORDERS // 2
    rows = [(names[row % POSITIONS], "SELL", "1", f"101.{row // POSITIONS:02d}") for row in range(half)]
    rows += [(names[row % POSITIONS], "BUY", "5", f"99.{row // POSITIONS:02d}") for row in range(half)]
    orders = [
        {"symbol": symbol, "currency": "USD", "side": side, "quantity": quantity, "limit": limit, "reason": "bench"}
        for symbol, side, quantity, limit in rows
    ]
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "orders.json").write_text(json.dumps(orders))
    return tuple(str(folder / name) for name in ("policy.toml", "state.json", "orders.json"))


def timed(command: tuple[str, ...], rounds: int) -> tuple[float, str]:
    """Seconds of the quickest round, and what the last one printed."""
    times, out = [], ""
    for _ in range(rounds):
        start = time.perf_counter()
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        times.append(time.perf_counter() - start)
    return min(times), out


def main() -> None:
    """Measure and print."""
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, default=5)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        policy, state, orders = documents(Path(folder))
        command = (str(PROPDESK), "gate", "check", "--policy", policy, "--state", state, "--orders", orders, "--json")
        ours, printed = timed(command, given.rounds)
        bare, _ = timed((sys.executable, "-c", BARE, state, orders), given.rounds)
    approved = sum(row["approved"] for row in json.loads(printed)["decisions"])
    if approved != expected():
        raise SystemExit(f"{approved} orders approved instead of {expected()}")
    name = f"gate check, {ORDERS:,} orders"
    report([Figure(name, ours, "s", bare, "reading and printing alone", "< 2 s")], as_json=given.json)


def expected() -> int:
    """Approvals by plain arithmetic in hundredths of a cent: SELLs while shares are held, BUYs while cash lasts."""
    sold = [10_100 + row // POSITIONS for row in range(ORDERS // 2)][: POSITIONS * 20]
    cash, bought = sum(cents * 100 - 10_000 for cents in sold), 0
    for row in range(ORDERS // 2):
        cost = 5 * (9_900 + row // POSITIONS) * 100 + 10_000
        if cost <= cash:
            cash, bought = cash - cost, bought + 1
    return len(sold) + bought


if __name__ == "__main__":
    main()
