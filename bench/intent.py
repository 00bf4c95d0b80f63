"""From a proposal in the log to its first order in the log, and from each order to the next, in a real run of all processes.

A source of the kind `file` proposes some orders each session. A client with the desk's key reads the live log beside it and notes
when each event arrives; so every figure is from stored to stored, each flushed. Beside it: the same number of facts (proposal,
prices, verdict, intent) handed to and fro by two bare nats-py clients, each awaiting its publish. Every order must have been
sent, and each intent must follow from an approving verdict.
"""

import asyncio
import csv
import itertools
import json
import subprocess
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from _table import Figure, parser, percentiles, report
from append import start_server
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy, StreamConfig

from services.desk.arguments import BUNDLED_DATA
from services.desk.desk_keys import AUTHOR
from services.desk.layout import Layout
from services.desk.server import url_of
from shared.bus.jetstream import Connection, connect
from shared.bus.keys import KeyFolder
from shared.bus.link import User
from shared.bus.logs import configure_logs
from shared.bus.ports import BusError, LogBroken, Stored

PROPDESK: Final = Path(sys.executable).with_name("propdesk")
SYMBOLS: Final = ("KO", "PFE", "BAC", "GE", "RRC")
HANDS: Final = 3
"""From a proposal to the intent three more facts are written: prices, verdict, intent."""
WAIT_S: Final = 120.0
FIRST_TARGET: Final = "p50 ≤ 12 ms, p99 ≤ 40 ms"
MORE_TARGET: Final = "≤ 6 ms"
POLICY: Final = """[policy]
base_currency = "USD"

[policy.limits]
month_timezone = "America/New_York"
max_trades_per_month = 1000

[[policy.commission]]
currency = "USD"
per_share = "0.005"
minimum = "1.00"
maximum_pct = "1"
"""


def write_orders(target: Path, days: int) -> None:
    """A BUY of one share of each name, 1 % under its close before, for each of the last sessions of the data."""
    with BUNDLED_DATA.open(encoding="utf-8") as given:
        rows = [row for row in csv.DictReader(given) if row["symbol"] in SYMBOLS]
    closes: dict[str, list[tuple[str, Decimal]]] = {}
    for row in rows:
        closes.setdefault(row["symbol"], []).append((row["date"], Decimal(row["close"])))
    orders: dict[str, list[dict[str, str]]] = {}
    for symbol in SYMBOLS:
        for (_, before), (day, _) in itertools.pairwise(closes[symbol][-days - 1 :]):
            limit = str((before * Decimal("0.99")).quantize(Decimal("0.01")))
            orders.setdefault(day, []).append(
                {"symbol": symbol, "currency": "USD", "side": "BUY", "quantity": "1", "limit": limit}
            )
    target.write_text("".join(json.dumps({"date": day, "orders": found}) + "\n" for day, found in orders.items()), "utf-8")


async def watch(folder: Path, process: subprocess.Popen[bytes]) -> dict[int, tuple[float, Stored]]:
    """Every message of the log with the time at which it arrived, until the desk has ended."""
    found: dict[int, tuple[float, Stored]] = {}
    while (url := url_of(Layout(folder))) is None:  # noqa: ASYNC110 - written by another process
        await asyncio.sleep(0.01)
    user = User(KeyFolder(Layout(folder).keys).read(AUTHOR), AUTHOR)
    connection = await connect(url, AUTHOR, user=user)
    while not await begun(connection):  # noqa: ASYNC110 - made by another process
        await asyncio.sleep(0.01)
    reading = connection.log.read(0)

    async def read() -> None:
        async for batch in reading:
            now = time.perf_counter()
            found.update((stored.seq, (now, stored)) for stored in batch)

    task = asyncio.create_task(read())
    while process.poll() is None and not task.done():  # noqa: ASYNC110 - another process
        await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.wait({task})
    try:
        await reading.aclose()
        await connection.close()
    except BusError:
        pass  # the server went with the desk
    return found


async def begun(connection: Connection) -> bool:
    """Whether the desk has made its log."""
    try:
        return await connection.log.last_seq() > 0
    except LogBroken:
        return False


class Latencies:
    """Seconds from each proposal to its first intent, and from each intent to the next of its run."""

    def __init__(self, arrived: dict[int, tuple[float, Stored]]) -> None:
        """Read them off the log, in order."""
        self.first: list[float] = []
        self.further: list[float] = []
        proposed: dict[str, float] = {}
        last: dict[str, float] = {}
        self.approved: set[str] = set()
        self.sent: set[str] = set()
        for _, (at, stored) in sorted(arrived.items()):
            event = json.loads(stored.payload)
            run = event["run"]
            match event["type"]:
                case "ProposalMade":
                    proposed[run] = at
                case "Verdict":
                    self.approved |= {row["order"] for row in event["data"]["decisions"] if row["approved"]}
                case "OrderIntended":
                    self._intended(event, at, proposed, last)

    def _intended(self, event: dict[str, Any], at: float, proposed: dict[str, float], last: dict[str, float]) -> None:
        run, order = event["run"], event["data"]["order"]
        if order not in self.approved or order in self.sent:
            raise SystemExit(f"{order} was sent twice or without an approving verdict")
        self.sent.add(order)
        if run in last:
            self.further.append(at - last[run])
        else:
            self.first.append(at - proposed[run])
        last[run] = at


def trade(days: int) -> Latencies:
    """A run of all processes, watched."""
    with tempfile.TemporaryDirectory() as made:
        folder, orders, policy = Path(made, "desk"), Path(made, "orders.jsonl"), Path(made, "policy.toml")
        write_orders(orders, days)
        policy.write_text(POLICY, "utf-8")
        source, where = f"file:{orders}@bench", ("--dir", str(folder), "--json")
        command = (str(PROPDESK), "run", "--days", str(days), "--source", source, "--policy", str(policy), *where)
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        arrived = asyncio.run(watch(folder, process))
        output, _ = process.communicate(timeout=WAIT_S)
    if process.returncode:
        raise SystemExit(f"the run ended with {process.returncode}")
    found, counts = Latencies(arrived), json.loads(output)["books"][0]["orders"]
    if not len(found.sent) == counts["approved"] == days * len(SYMBOLS):
        raise SystemExit(f"{len(found.sent)} orders were sent, {counts} counted, {days * len(SYMBOLS)} proposed")
    return found


async def hand_over(url: str, rounds: int) -> list[float]:
    """Seconds from a fact that is received to the last of `HANDS` more, which two bare clients write in turns."""
    clients = [Client(), Client()]
    for client in clients:
        await client.connect(url)
    await clients[0].jetstream().add_stream(StreamConfig(name="BARE", subjects=["bare.>"]))
    heard: asyncio.Queue[tuple[int, float]] = asyncio.Queue()

    def answering(index: int) -> Any:
        async def answer(message: Msg) -> None:
            left = int(message.subject.rpartition(".")[2])
            if index == 0 and left in {HANDS, 0}:
                heard.put_nowait((left, time.perf_counter()))
            if left and left % 2 == index:
                await clients[index].jetstream().publish(f"bare.{left - 1}", message.data)

        return answer

    for index, client in enumerate(clients):
        config = ConsumerConfig(ack_policy=AckPolicy.NONE, deliver_policy=DeliverPolicy.NEW)  # nats-py writes into it
        await client.jetstream().subscribe("bare.>", stream="BARE", cb=answering(index), config=config, manual_ack=True)
    found = []
    for _ in range(rounds):
        await clients[0].jetstream().publish(f"bare.{HANDS}", b"x" * 1000)
        (_, began), (_, ended) = [await asyncio.wait_for(heard.get(), WAIT_S) for _ in range(2)]
        found.append(ended - began)
    for client in clients:
        await client.close()
    return found


def bare(rounds: int) -> list[float]:
    """The same over a server of their own."""
    with tempfile.TemporaryDirectory() as folder:
        server, url, _ = start_server(Path(folder))
        try:
            return asyncio.run(hand_over(url, rounds))
        finally:
            server.terminate()
            server.wait(WAIT_S)


def main() -> None:
    """Measure and print."""
    options = parser(__doc__)
    options.add_argument("--days", type=int, default=120, help="sessions to trade, one proposal each")
    given = options.parse_args()
    configure_logs("bench", "critical")  # the server goes with the desk, which is no news
    found = trade(given.days)
    floor = percentiles(bare(given.days))
    first, further = percentiles(found.first), percentiles(found.further)
    beside = f"{HANDS} facts between 2 bare clients"
    figures = [
        Figure("proposal to first intent, p50", first[0], "ms", floor[0], beside, FIRST_TARGET),
        Figure("proposal to first intent, p99", first[1], "ms", floor[1], beside, FIRST_TARGET),
        Figure("each further order, p50", further[0], "ms", floor[0] / HANDS, "1 of these facts", MORE_TARGET),
        Figure("each further order, p99", further[1], "ms", floor[1] / HANDS, "1 of these facts"),
    ]
    report(figures, as_json=given.json)


if __name__ == "__main__":
    main()
