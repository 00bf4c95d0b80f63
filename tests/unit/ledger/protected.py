"""A desk whose books hold something, for tests of halts, the kill switch and what is to be sold."""

from shared.ledger.owed import owed
from shared.ledger.state import Book, LedgerOrder
from shared.protocol.envelope import Event
from shared.protocol.events import (
    AccountReconciled,
    BookValued,
    Breach,
    HaltOrdered,
    HaltTripped,
    MarketObserved,
    OrderClosed,
    OrderIntended,
    OrderPlaced,
    OrdersUsed,
    RunSettled,
)
from shared.protocol.ids import DESK_BOOK
from shared.protocol.instants import compact
from shared.protocol.market import Side
from shared.protocol.money import Exact
from shared.protocol.policy import Policy
from shared.protocol.reasons import OrderEnd
from tests.support.scribe import POLICY, SLOT, Scribe

BUY, SELL = Side.BUY, Side.SELL
WATCH = "2022-10-03T15:00:00.000000Z"
NEXT_DAY_SLOT = "2022-10-04T14:30:00.000000Z"
NEXT_DAY = "2022-10-04"


class Protected(Scribe):
    """At the slot, no book due; `eq` holds 10 AAA and 10 BBB, bought at 100."""

    def __init__(self, *books: str, policy: Policy = POLICY) -> None:
        super().__init__()
        self.open_desk(*(books or ("eq",)), policy=policy)
        self.clock("slot", SLOT)
        for symbol in ("AAA", "BBB"):
            self.fill(f"20220901T1030-eq-1-{'1' if symbol == 'AAA' else '2'}", f"old-{symbol}", symbol, BUY, "10", "100")

    def book(self, name: str = "eq") -> Book:
        return self.state.books[name]

    def owes(self, resting: bool = False) -> list[tuple[str, str, str]]:
        """What is owed: author, type, about."""
        return [(item.author, item.type, item.about) for item in owed(self.state) if resting or not item.resting]

    def ordered(self, kind: str = "full", *, liquidate: bool = False, scope: str = "eq", request: str = "r1") -> Event:
        """An operator's halt."""
        return self.write("desk", HaltOrdered(scope, kind, liquidate, "drill"), request, book=scope)

    def tripped(self, cause: str = "kill_switch", book: str = "eq", run: str | None = None) -> Event:
        """The gate's halt, in a run or at the step that goes on."""
        kind, liquidate = ("full", True) if cause == "kill_switch" else ("reduce_only", False)
        data = HaltTripped(book, kind, liquidate, cause, "it fell", None, None, None, None, ())
        return self.write("gate", data, run or f"{book}-{compact(self.state.now or '')}", book=book, run=run)

    def watched(self, value: str | None, breach: Breach | None = None, book: str = "eq", run: str | None = None) -> Event:
        """A valuation of a run or, without one, of the watch step."""
        known = None if value is None else Exact(value)
        data = BookValued(
            "watch", self.book(book).cash, (), known, self.book(book).peak, None, None, OrdersUsed(0, 0), (), "", breach
        )
        return self.write("gate", data, run or f"{book}-{compact(self.state.now or '')}", book=book, run=run)

    def looked(self) -> None:
        """The account and the market of a watch step."""
        about = f"{DESK_BOOK}-{compact(self.state.now or '')}"
        self.write("executor", AccountReconciled("DU1", {}, {}, ()), about)
        self.write("executor", MarketObserved("watch", (), {}, {}, {}), about)

    def sold(
        self, number: int = 1, *orders: tuple[str, Side, str, str], minute: str = "1030", day: str = "20221003"
    ) -> list[str]:
        """A liquidation's observation and its verdict; the ids of what it approves."""
        run = f"{day}T{minute}-eq-k{number}"
        seen = MarketObserved("liquidation", (), {}, {}, {}, {"AAA:USD": Exact(10), "BBB:USD": Exact(10)})
        self.write("executor", seen, run, book="eq", run=run)
        return list(self.approve(run, *orders, kind="liquidation"))

    def order(self, name: str) -> LedgerOrder:
        return self.state.runs[name.rpartition("-")[0]].orders[name]

    def placed(self, name: str, status: str = "working") -> None:
        """An order goes to the broker."""
        row, run = self.order(name), name.rpartition("-")[0]
        data = OrderIntended(name, row.symbol, "USD", "SMART", row.side, row.quantity, row.limit, name)
        self.write("executor", data, name, book=row.book, run=run)
        self.write("executor", OrderPlaced(name, "1", status), name, book=row.book, run=run)

    def closed(self, name: str, filled: str = "0", end: OrderEnd = OrderEnd.CANCELLED) -> None:
        """An order ends, with a fill of its last part if it filled anything."""
        row, run = self.order(name), name.rpartition("-")[0]
        if Exact(filled):
            self.fill(name, f"x-{name}", row.symbol, row.side, filled, str(row.limit))
        self.write("executor", OrderClosed(name, end, Exact(filled), ""), name, book=row.book, run=run)

    def settled(self, run: str) -> None:
        self.write("executor", RunSettled(0, 0, 0), run, book=run.split("-")[1], run=run)


def breach(count: int) -> Breach:
    """So many valuations agree."""
    return Breach(count, SLOT, "q", None, tuple(f"e{n}" for n in range(count)))
