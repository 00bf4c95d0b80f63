"""A gateway of our own in this process: the exchange model, its books, the TWS socket, and a clock that tests move."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from msgspec.json import encode as json_encode

from services.simulator.broker import Broker
from services.simulator.exchange import Exchange
from services.simulator.journal_file import JournalFile
from services.simulator.listening import listen
from services.simulator.orders import Terms
from services.simulator.prices import load_prices
from services.simulator.schedule import advance
from services.simulator.tws.acting import act
from services.simulator.tws.faults import read_fault
from services.simulator.tws.frame_log import FrameLog
from services.simulator.tws.gateway import Gateway
from services.simulator.tws.server import TwsServer
from shared.protocol.calendar import calendar
from shared.protocol.instants import to_text
from shared.protocol.money import Exact

DAY = "2022-10-04"
NEXT_DAY = "2022-10-05"
SYMBOLS = {"AAPL": "190", "MSFT": "250"}
FIRST = date(2022, 4, 1)


def price_rows() -> str:
    """Half a year of bars with open, high and low: AAPL opens at 190 and trades from 188 to 192 every day, closing at 191."""
    rows = ["date,symbol,open,high,low,close,volume"]
    day = FIRST
    while day <= date.fromisoformat(NEXT_DAY):
        if calendar("XNYS").is_session(day):
            for symbol, text in SYMBOLS.items():
                price = int(text)
                rows.append(f"{day},{symbol},{price},{price + 2},{price - 2},{price + 1},")
        day += timedelta(days=1)
    return "\n".join(rows) + "\n"


class Desk:
    """The gateway with its controls; times are New York in October, four hours behind UTC."""

    def __init__(self, folder: Path, terms: Terms | None = None) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "prices.csv"
        path.write_text(price_rows(), "utf-8")
        self.journal = JournalFile.open(folder / "broker")
        self.broker = Broker(Exchange(load_prices(path), terms or Terms(fx={"EUR": Exact("1.25")})), self.journal)
        self.gateway = Gateway(self.broker, calendar("XNYS"))
        self.port = 0

    def to(self, at: str, step: str, day: str) -> None:
        """Move time."""
        self.broker.submit(advance(self.broker.exchange.file, calendar("XNYS"), to=at, step=step, day=day))  # type: ignore[arg-type]

    def slot(self, day: str = DAY) -> None:
        self.to(f"{day}T14:30:00.000000Z", "slot", day)

    def close(self, day: str = DAY) -> None:
        hours = calendar("XNYS").hours(date.fromisoformat(day))
        self.to(to_text(hours.closes_at), "close", day)

    def fault(self, name: str, **fields: Any) -> None:
        """Do a fault, as the control port would."""
        act(self.gateway, read_fault(json_encode({"name": name, **fields})))

    @property
    def frames(self) -> Path:
        """The log of frames."""
        return self.folder / "frames.jsonl"


@contextlib.asynccontextmanager
async def serving(desk: Desk) -> AsyncIterator[Desk]:
    """Serve a desk's gateway on a free port of loopback."""
    stop = asyncio.Event()
    server = TwsServer(desk.gateway, FrameLog(desk.frames))
    with listen(desk.folder / "broker", 0) as listener:
        desk.port = listener.getsockname()[1]
        task = asyncio.create_task(server.run(listener, stop))
        try:
            yield desk
        finally:
            stop.set()
            await task
            desk.journal.close()


async def until(condition: Any, timeout_s: float = 5.0) -> None:
    """Wait until a condition holds, looking often; an AssertionError at the end of the time."""
    deadline = asyncio.get_running_loop().time() + timeout_s
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, "it did not come to hold in time"
        await asyncio.sleep(0.002)
