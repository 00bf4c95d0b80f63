"""Small markets for tests of the simulator: a price file in a folder, and an exchange that is played step by step."""

from pathlib import Path

from services.simulator.exchange import Command, Exchange, Outcome, State, apply, opening
from services.simulator.orders import Advance, Execution, Order, Place, Session, Terms
from services.simulator.prices import PriceFile, load_prices
from shared.protocol.market import Side
from shared.protocol.money import Exact

HEADER = "date,symbol,open,high,low,close,volume\n"
MONDAY, TUESDAY, WEDNESDAY = "2022-10-03", "2022-10-04", "2022-10-05"


def price_file(folder: Path, rows: str) -> PriceFile:
    """Rows without the header, one per line."""
    path = folder / "prices.csv"
    path.write_text(HEADER + "".join(f"{row.strip()}\n" for row in rows.strip().splitlines()), "utf-8")
    return load_prices(path)


class Play:
    """An exchange, its state and everything that happened. New York is four hours behind UTC in these days."""

    def __init__(self, file: PriceFile, terms: Terms | None = None) -> None:
        self.exchange = Exchange(file, terms or Terms())
        self.state: State = opening(self.exchange.terms)
        self.orders: dict[int, Order] = {}
        self.executions: list[Execution] = []

    def submit(self, command: Command) -> Outcome:
        outcome = apply(self.exchange, self.state, command)
        self.state = outcome.state
        self.orders.update({order.perm_id: order for order in outcome.orders})
        self.executions.extend(outcome.executions)
        return outcome

    def slot(self, day: str) -> Outcome:
        return self._advance(f"{day}T14:30:00.000000Z", "slot", day)

    def close(self, day: str) -> Outcome:
        return self._advance(f"{day}T20:00:00.000000Z", "close", day)

    def buy(self, symbol: str, quantity: str, limit: str, ref: str = "r") -> Order:
        return self.place(Side.BUY, symbol, quantity, limit, ref)

    def sell(self, symbol: str, quantity: str, limit: str, ref: str = "r") -> Order:
        return self.place(Side.SELL, symbol, quantity, limit, ref)

    def place(self, side: Side, symbol: str, quantity: str, limit: str, ref: str = "r", currency: str = "USD") -> Order:
        """The order as it stands right after it was placed."""
        return self.submit(Place("test", ref, symbol, currency, side, Exact(quantity), Exact(limit))).orders[0]

    def fills(self) -> list[tuple[str, str, str]]:
        """Quantity, price and fee of all executions as text."""
        return [(str(fill.quantity), str(fill.price), str(fill.fee)) for fill in self.executions]

    def _advance(self, to: str, step: str, day: str) -> Outcome:
        index = [str(session) for session in self.exchange.file.sessions].index(day)
        session = Session(index, day, f"{day}T13:30:00.000000Z", f"{day}T20:00:00.000000Z")
        return self.submit(Advance(to, step, session))  # type: ignore[arg-type]
